//! `count` of a host: one declaration that stands for several machines. It is replaced as soon as its file is read,
//! so that everything after it knows the machines alone.

use indexmap::IndexMap;

use super::super::Text;
use super::super::located::Located;
use super::{Ec2, Host};
use crate::diagnostic::Problem;

/// The most machines of one declaration.
const LIMIT: u32 = 100;

/// `hosts` with `NAME-1` to `NAME-N` in place of each `NAME` that has a count of N.
pub(in crate::spec) fn counted(
    hosts: IndexMap<Text, Host>,
    problems: &mut Vec<Problem>,
) -> IndexMap<Text, Host> {
    let mut counted: IndexMap<Text, Host> = IndexMap::with_capacity(hosts.len());
    let written: Vec<Text> = hosts.keys().cloned().collect();
    for (name, host) in hosts {
        let Some(count) = host.ec2.as_ref().and_then(|ec2| ec2.count.clone()) else {
            counted.insert(name, host);
            continue;
        };
        problems.extend(mistake(&name, &host, &count));
        let count = count.value.min(LIMIT);
        for number in 1..=count {
            let own = Located { value: format!("{}-{number}", name.value), span: name.span };
            if let Some(other) = written.iter().find(|other| **other == own) {
                problems.push(
                    Problem::at(
                        other.span,
                        format!("`{}` is one of the {count} hosts `{}`", own.value, name.value),
                    )
                    .help("give one of the two another name"),
                );
            }
            counted.insert(own, Host { counted_as: Some(name.value.clone()), ..one(&host) });
        }
    }
    counted
}

/// Adds the hosts of a later file to `hosts`; each takes the place of all that its name stood for.
pub(in crate::spec) fn replace(hosts: &mut IndexMap<Text, Host>, by: IndexMap<Text, Host>) {
    let is_replaced = |host: &Host| {
        host.counted_as.as_ref().is_some_and(|name| {
            by.iter().any(|(key, other)| key.value == *name || other.counted_as.as_ref() == Some(name))
        })
    };
    hosts.retain(|name, host| by.contains_key(name) || !is_replaced(host));
    hosts.extend(by);
}

/// One of several.
fn one(host: &Host) -> Host {
    let mut host = host.clone();
    if let Some(Located { value: Ec2 { count, .. }, .. }) = &mut host.ec2 {
        *count = None;
    }
    host
}

fn mistake(name: &Text, host: &Host, count: &Located<u32>) -> Option<Problem> {
    let ec2 = host.ec2.as_ref()?;
    if !(1..=LIMIT).contains(&count.value) {
        let message = format!("`{}` can't be {} hosts", name.value, count.value);
        return Some(Problem::at(count.span, message).help(format!("write a number from 1 to {LIMIT}")));
    }
    if let Some(id) = &ec2.instance_id {
        return Some(
            Problem::at(count.span, format!("{} is one instance", id.value))
                .help("leave `count` out, and declare a host for each instance"),
        );
    }
    let address = host.peer_address.as_ref().filter(|_| count.value > 1)?;
    Some(
        Problem::at(address.span, format!("{} hosts can't have one address", count.value))
            .help("leave `peer_address` out: peers reach an instance by its private address"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &[(&str, Option<u32>)]) -> IndexMap<Text, Host> {
        let host = |count: &Option<u32>| {
            let ec2 = Ec2 { count: count.map(Located::unwritten), ..Ec2::default() };
            Host { ec2: Some(Located::unwritten(ec2)), ..Host::default() }
        };
        let declared = names.iter().map(|(name, count)| (Text::unwritten((*name).to_owned()), host(count)));
        let mut problems = Vec::new();
        let counted = counted(declared.collect(), &mut problems);
        assert_eq!(problems.len(), 0);
        counted
    }

    fn names(hosts: &IndexMap<Text, Host>) -> Vec<&str> {
        hosts.keys().map(|name| name.as_str()).collect()
    }

    #[test]
    fn a_name_stands_for_as_many_as_it_counts() {
        let counted = hosts(&[("a", None), ("load", Some(3)), ("sink", Some(1))]);
        assert_eq!(names(&counted), ["a", "load-1", "load-2", "load-3", "sink-1"]);
        assert!(counted.values().all(|host| host.ec2.as_ref().unwrap().count.is_none()));
    }

    #[test]
    fn a_later_file_takes_the_place_of_all_of_a_name() {
        for (later, expected) in [
            (&[("load", Some(2))][..], &["a", "load-1", "load-2"][..]),
            (&[("load", None)], &["a", "load"]),
            (&[("load-2", None)], &["a", "load-1", "load-2", "load-3"]),
        ] {
            let mut all = hosts(&[("a", None), ("load", Some(3))]);
            replace(&mut all, hosts(later));
            assert_eq!(names(&all), expected);
        }
    }
}
