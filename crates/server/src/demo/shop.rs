//! The sample data of the satellite: a shop with customers, orders and products of three tenants, the same rows in every demo.

mod dice;
mod words;

use std::path::Path;

use query::value::{date_text, timestamp_fixed_text};
use store::{BulkValue, NewFile};

use dice::Dice;
use words::{CATEGORIES, Country, LABELS, NOTES, REGIONS, Region, STYLES};

use super::progress::Progress;
use super::{Cancelled, Stopped};

/// What the satellite serves of it.
pub(super) const MANIFEST: &str = include_str!("peristyle.toml");

const CUSTOMERS: i64 = 6_000;
/// 2022-01-01, as days since 1970: the first customer.
const OPENING: i64 = 18_993;
/// The days from there to the last order, at the end of 2025.
const DAYS: i64 = 1_460;
const DAY: i64 = 86_400_000_000;

/// A tenant, as the hub has to know it too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tenant {
    pub(super) id: &'static str,
    pub(super) code: &'static str,
    pub(super) name: &'static str,
}

/// The tenants that rows belong to.
pub(super) fn tenants() -> impl Iterator<Item = Tenant> {
    REGIONS.iter().map(|Region { tenant, code, name, .. }| Tenant { id: tenant, code, name })
}

/// Makes the file.
pub(super) fn make(path: &Path, cancelled: &Cancelled, progress: &mut Progress) -> Result<(), Stopped> {
    let mut shop =
        Shop { file: NewFile::create(path, include_str!("shop/tables.sql"))?, dice: Dice::new(4_000), rows: 0, orders: 0, lines: 0 };
    shop.lists()?;
    let products = shop.products()?;
    for id in 1..=CUSTOMERS {
        cancelled.check()?;
        shop.customer(id, &products)?;
        progress.show(id, CUSTOMERS, shop.rows);
    }
    shop.file.finish(include_str!("shop/indexes.sql"))?;
    progress.done(shop.rows);
    Ok(())
}

/// What a product costs, in cents.
type Price = i64;

struct Shop {
    file: NewFile,
    dice: Dice,
    rows: u64,
    orders: i64,
    lines: i64,
}

impl Shop {
    fn insert(&mut self, statement: &'static str, row: &[BulkValue<'_>]) -> Result<(), store::Error> {
        self.rows += 1;
        self.file.insert(statement, row)
    }

    /// Tenants, countries and labels.
    fn lists(&mut self) -> Result<(), store::Error> {
        for region in &REGIONS {
            self.insert("INSERT INTO tenants VALUES (?, ?)", &[BulkValue::Text(region.tenant), BulkValue::Text(region.name)])?;
            for Country { code, name, .. } in region.countries {
                self.insert("INSERT INTO countries VALUES (?, ?)", &[BulkValue::Text(code), BulkValue::Text(name)])?;
            }
        }
        for (id, name) in (1..).zip(LABELS) {
            self.insert("INSERT INTO labels VALUES (?, ?)", &[BulkValue::Number(id), BulkValue::Text(name)])?;
        }
        Ok(())
    }

    /// Every thing in every style; what each costs.
    fn products(&mut self) -> Result<Vec<Price>, store::Error> {
        let mut prices = Vec::new();
        for (category, things) in CATEGORIES {
            for thing in things {
                for style in STYLES {
                    let price = self.dice.between(9, 420) * 100 - self.dice.below(2) * 5;
                    let cost = price * self.dice.between(35, 70) / 100;
                    let (name, price_text, cost_text) = (format!("{style} {thing}"), money(price), money(cost));
                    let weight = if self.dice.percent(4) { None } else { Some(format!("{}.{}", self.dice.below(40), self.dice.below(10))) };
                    let added = date(OPENING + self.dice.below(DAYS));
                    prices.push(price);
                    let row = [
                        BulkValue::Number(prices.len() as i64),
                        BulkValue::Text(&name),
                        BulkValue::Text(category),
                        BulkValue::Text(&price_text),
                        BulkValue::Text(&cost_text),
                        // The column is REAL and makes a number of it.
                        weight.as_deref().map_or(BulkValue::Null, BulkValue::Text),
                        BulkValue::Text(&added),
                    ];
                    self.insert("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?)", &row)?;
                }
            }
        }
        Ok(prices)
    }

    /// One customer with labels and orders.
    fn customer(&mut self, id: i64, products: &[Price]) -> Result<(), store::Error> {
        let region = &REGIONS[self.dice.weighted(&[("0", 42), ("1", 33), ("2", 25)]).parse().unwrap_or(0)];
        let country = self.dice.pick(region.countries);
        let (first, last) = (self.dice.pick(region.first_names), self.dice.pick(region.last_names));
        let (name, email) = (format!("{first} {last}"), format!("{}.{}{id}@{}", plain(first), plain(last), self.dice.pick(&DOMAINS)));
        let phone = format!("+{} {} {:07}", country.calling, self.dice.between(20, 99), self.dice.below(10_000_000));
        let town = self.dice.pick(country.towns);
        let key = format!("key_{:016x}", self.dice.below(i64::MAX));
        let status = self.dice.weighted(&[("active", 70), ("lead", 18), ("gone", 12)]);
        let (credit, since) = (money(self.dice.between(0, 40) * 25_000), self.dice.below(DAYS - 60));
        let created = self.moment(since);
        let gone = self.dice.percent(3).then(|| self.moment(DAYS - 1));
        let row = [
            BulkValue::Number(id),
            BulkValue::Text(region.tenant),
            BulkValue::Text(&name),
            BulkValue::Text(&email),
            if self.dice.percent(8) { BulkValue::Null } else { BulkValue::Text(&phone) },
            BulkValue::Text(&key),
            BulkValue::Text(status),
            BulkValue::Text(town),
            BulkValue::Text(country.code),
            BulkValue::Number(self.dice.below(2)),
            BulkValue::Text(&credit),
            BulkValue::Text(&created),
            gone.as_deref().map_or(BulkValue::Null, BulkValue::Text),
        ];
        self.insert("INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &row)?;
        for label in 1..=LABELS.len() as i64 {
            if self.dice.percent(12) {
                self.insert("INSERT INTO customers_labels VALUES (?, ?)", &[BulkValue::Number(id), BulkValue::Number(label)])?;
            }
        }
        let orders = if status == "lead" { 0 } else { self.dice.between(1, 6) };
        for _ in 0..orders {
            let day = since + self.dice.below(DAYS - since);
            self.order(id, day, products)?;
        }
        Ok(())
    }

    fn order(&mut self, customer: i64, day: i64, products: &[Price]) -> Result<(), store::Error> {
        let lines: Vec<(i64, i64)> = (0..self.dice.between(1, 4))
            .map(|_| (self.dice.below(products.len() as i64), if self.dice.percent(70) { 1 } else { self.dice.between(2, 4) }))
            .collect();
        let price = |product: i64| products[product as usize];
        let total = money(lines.iter().map(|(product, quantity)| price(*product) * quantity).sum());
        // What was ordered last is still on its way.
        let settled = day < DAYS - 21;
        let status =
            self.dice.weighted(if settled { &[("shipped", 92), ("returned", 8)] } else { &[("new", 40), ("paid", 40), ("shipped", 20)] });
        let placed = self.moment(day);
        let note = if self.dice.percent(10) { BulkValue::Text(self.dice.pick(&NOTES)) } else { BulkValue::Null };
        self.orders += 1;
        let order = BulkValue::Number(self.orders);
        let (month, placed) = (BulkValue::Text(&placed[.."2025-03".len()]), BulkValue::Text(&placed));
        let row = [order, BulkValue::Number(customer), BulkValue::Text(status), BulkValue::Text(&total), placed, month, note];
        self.insert("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", &row)?;
        for (product, quantity) in lines {
            self.lines += 1;
            let price = money(price(product));
            let row = [
                BulkValue::Number(self.lines),
                order,
                BulkValue::Number(product + 1),
                BulkValue::Number(quantity),
                BulkValue::Text(&price),
            ];
            self.insert("INSERT INTO order_lines VALUES (?, ?, ?, ?, ?)", &row)?;
        }
        Ok(())
    }

    /// Some time of a day in business hours, as SQLite keeps it.
    fn moment(&mut self, day: i64) -> String {
        let seconds = self.dice.between(7 * 3_600, 21 * 3_600);
        timestamp_fixed_text((OPENING + day) * DAY + seconds * 1_000_000).to_string()
    }
}

const DOMAINS: [&str; 4] = ["example.com", "example.net", "example.org", "mail.example"];

fn date(day: i64) -> String {
    date_text(day).map_or_else(String::new, |text| text.to_string())
}

/// Cents as a decimal.
fn money(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// A name as it stands in an address.
fn plain(name: &str) -> String {
    let letter = |letter: char| match letter {
        'á' | 'ä' | 'å' | 'Å' | 'Á' | 'ã' => 'a',
        'é' => 'e',
        'í' => 'i',
        'ñ' => 'n',
        'ó' | 'ö' | 'ø' | 'Ö' => 'o',
        'ü' => 'u',
        other => other.to_ascii_lowercase(),
    };
    name.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use query::catalog::Catalog;
    use query::manifest::Manifest;

    #[test]
    fn the_manifest_is_one() {
        let manifest = Manifest::read(MANIFEST).unwrap_or_else(|error| panic!("{error}"));
        Catalog::resolve(&manifest).unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn every_file_holds_the_same_rows_and_work_that_is_not_wanted_any_more_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let files: Vec<Vec<u8>> = ["a.db", "b.db"]
            .iter()
            .map(|name| {
                let path = folder.path().join(name);
                make(&path, &Cancelled::default(), &mut Progress::silent()).expect("a file");
                std::fs::read(path).expect("a file")
            })
            .collect();
        assert!(files[0].len() > 1_000_000 && files[0] == files[1]);
        let cancelled = Cancelled::default();
        cancelled.now();
        assert!(matches!(make(&folder.path().join("c.db"), &cancelled, &mut Progress::silent()), Err(Stopped::Asked)));
    }
}
