//! What an hour of a host costs: an amount, and the currency where one is named.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::located::Text;

/// An amount an hour, e.g. `0.0416 USD`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Text", into = "String")]
pub struct Cost {
    /// How much, above 0.
    pub amount: f64,
    /// Of what; empty where the file says a number alone.
    pub currency: String,
}

impl fmt::Display for Cost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.amount, self.currency)
    }
}

impl From<Cost> for String {
    fn from(cost: Cost) -> String {
        cost.to_string().trim_end().to_owned()
    }
}

impl TryFrom<Text> for Cost {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{}` is no cost an hour: write an amount above 0, and a currency after it, such as `0.0416 USD`",
                text.value
            )
        };
        let (amount, currency) = text.split_once(char::is_whitespace).unwrap_or((&text.value, ""));
        let amount: f64 = amount.parse().map_err(|_| wrong())?;
        let currency = currency.trim();
        let is_word = currency.chars().all(|letter| letter.is_alphabetic() || "$€£¥₩".contains(letter));
        match amount > 0.0 && amount.is_finite() && is_word {
            true => Ok(Cost { amount, currency: currency.to_owned() }),
            false => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_with_or_without_a_currency() {
        for (text, amount, currency) in
            [("0.0416 USD", 0.0416, "USD"), ("12", 12.0, ""), ("1500 ₩", 1500.0, "₩")]
        {
            let cost = Cost::try_from(Text::unwritten(text.to_owned())).unwrap();
            assert_eq!((cost.amount, &*cost.currency), (amount, currency), "{text}");
            assert_eq!(String::from(cost), text);
        }
        for text in ["", "USD 3", "0", "-1", "1e999", "3 USD/h", "NaN"] {
            assert!(Cost::try_from(Text::unwritten(text.to_owned())).is_err(), "{text}");
        }
    }
}
