//! What an hour of a host costs: an amount, and the currency where one is named; of a task on a cluster also by its size.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::located::Text;
use super::string_or_map::string_or_map;

/// Bytes of the memory that has a price.
const GIB: f64 = (1_u64 << 30) as f64;

/// What an hour costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cost {
    /// The host as a whole; on a cluster each task.
    Whole(Price),
    /// A task on a cluster, by its size.
    BySize(Rates),
}

/// Prices of which a task's is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// An hour of one CPU.
    ///
    /// Example: `cpu: 0.04048 USD`
    pub cpu: Price,
    /// An hour of one GiB of memory.
    ///
    /// Example: `memory: 0.004445 USD`
    pub memory: Price,
}

/// An amount an hour, e.g. `0.0416 USD`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Text", into = "String")]
pub struct Price {
    /// How much, above 0.
    pub amount: f64,
    /// Of what; empty where the file says a number alone.
    pub currency: String,
}

string_or_map!(Cost, Rates, "an amount an hour, or a map with `cpu` and `memory`");

impl Cost {
    fn from_text(text: &str) -> Result<Self, String> {
        Price::parse(text).map(Cost::Whole)
    }

    fn from_fields(rates: Rates) -> Result<Self, String> {
        match rates.cpu.currency == rates.memory.currency {
            true => Ok(Cost::BySize(rates)),
            false => Err("`cpu` and `memory` have two currencies: write both in one".to_owned()),
        }
    }

    /// What an hour of a task with `cpus` and `bytes` of memory costs.
    pub fn of_task(&self, cpus: f64, bytes: u64) -> Price {
        match self {
            Cost::Whole(price) => price.clone(),
            Cost::BySize(Rates { cpu, memory }) => Price {
                amount: cpus * cpu.amount + bytes as f64 / GIB * memory.amount,
                currency: cpu.currency.clone(),
            },
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cost::Whole(price) => write!(formatter, "{price} an hour"),
            Cost::BySize(Rates { cpu, memory }) => {
                write!(formatter, "{cpu} a CPU and {memory} a GiB of memory an hour")
            }
        }
    }
}

impl fmt::Display for Price {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nine digits: a sum of products has no more that mean something.
        let amount = format!("{:.9}", self.amount);
        let amount = amount.trim_end_matches('0').trim_end_matches('.');
        match self.currency.as_str() {
            "" => formatter.write_str(amount),
            currency => write!(formatter, "{amount} {currency}"),
        }
    }
}

impl From<Price> for String {
    fn from(Price { amount, currency }: Price) -> String {
        format!("{amount} {currency}").trim_end().to_owned()
    }
}

impl TryFrom<Text> for Price {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        Price::parse(&text)
    }
}

impl Price {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is no cost an hour: write an amount above 0, and a currency after it, such as `0.0416 USD`"
            )
        };
        let (amount, currency) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let amount: f64 = amount.parse().map_err(|_| wrong())?;
        let currency = currency.trim();
        let is_word = currency.chars().all(|letter| letter.is_alphabetic() || "$€£¥₩".contains(letter));
        match amount > 0.0 && amount.is_finite() && is_word {
            true => Ok(Price { amount, currency: currency.to_owned() }),
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
            let price = Price::parse(text).unwrap();
            assert_eq!((price.amount, &*price.currency), (amount, currency), "{text}");
            assert_eq!(price.to_string(), text);
            assert_eq!(String::from(price), text);
        }
        for text in ["", "USD 3", "0", "-1", "1e999", "3 USD/h", "NaN"] {
            assert!(Price::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_task_costs_by_its_size() {
        let price = |text| Price::parse(text).unwrap();
        let by_size = Cost::from_fields(Rates { cpu: price("0.04048 USD"), memory: price("0.004445 USD") });
        let smallest = by_size.unwrap().of_task(0.25, 512 << 20);
        assert_eq!(smallest.to_string(), "0.0123425 USD");
        assert_eq!(Cost::Whole(price("2")).of_task(0.25, 512 << 20), price("2"));
        let mixed = Rates { cpu: price("1 USD"), memory: price("1 EUR") };
        assert!(Cost::from_fields(mixed).unwrap_err().contains("two currencies"));
    }
}
