//! The sample data of the satellite: customers, orders and products of three tenants. Every demo has the same rows.

mod pseudo_random;
mod sample_values;

use std::path::Path;

use query::value::{date_text, timestamp_fixed_text};
use store::BulkValue::{self, Null, Number, Text};
use store::NewFile;

use pseudo_random::PseudoRandom;
pub(super) use sample_values::REGIONS;
use sample_values::{CATEGORIES, Country, LABELS, NOTES, STYLES};

use super::{Cancellation, PrepareError};

pub(super) const MANIFEST: &str = include_str!("peristyle.toml");

const CUSTOMERS: i64 = 6_000;
/// The day of the first customer, 2022-01-01, in days since 1970.
const FIRST_DAY: i64 = 18_993;
/// The days until the last order, at the end of 2025.
const DAYS: i64 = 1_460;
const DAY_MICROSECONDS: i64 = 86_400_000_000;

/// Creates the database file and returns the number of rows. `on_progress` gets the percentage and the rows so far.
pub(super) fn create(path: &Path, cancellation: &Cancellation, mut on_progress: impl FnMut(i64, u64)) -> Result<u64, PrepareError> {
    let file = NewFile::create(path, include_str!("shop/tables.sql"))?;
    let mut shop = Shop { file, random: PseudoRandom::new(4_000), rows: 0, orders: 0, lines: 0 };
    shop.insert_lists()?;
    let products = shop.insert_products()?;
    for id in 1..=CUSTOMERS {
        cancellation.check()?;
        shop.insert_customer(id, &products)?;
        on_progress(id * 100 / CUSTOMERS, shop.rows);
    }
    shop.file.finish(include_str!("shop/indexes.sql"))?;
    Ok(shop.rows)
}

/// Cents.
type Price = i64;

struct Shop {
    file: NewFile,
    random: PseudoRandom,
    rows: u64,
    orders: i64,
    lines: i64,
}

impl Shop {
    fn insert(&mut self, statement: &'static str, row: &[BulkValue<'_>]) -> Result<(), store::Error> {
        self.rows += 1;
        self.file.insert(statement, row)
    }

    fn insert_lists(&mut self) -> Result<(), store::Error> {
        for region in &REGIONS {
            self.insert("INSERT INTO tenants VALUES (?, ?)", &[Text(region.tenant), Text(region.name)])?;
            for Country { code, name, .. } in region.countries {
                self.insert("INSERT INTO countries VALUES (?, ?)", &[Text(code), Text(name)])?;
            }
        }
        for (id, name) in (1..).zip(LABELS) {
            self.insert("INSERT INTO labels VALUES (?, ?)", &[Number(id), Text(name)])?;
        }
        Ok(())
    }

    /// Every product in every style; returns the prices.
    fn insert_products(&mut self) -> Result<Vec<Price>, store::Error> {
        let mut prices = Vec::new();
        for (category, products) in CATEGORIES {
            for product in products {
                for style in STYLES {
                    let price = self.random.between(9, 420) * 100 - self.random.below(2) * 5;
                    let cost = price * self.random.between(35, 70) / 100;
                    let (name, price_text, cost_text) = (format!("{style} {product}"), money(price), money(cost));
                    let weight =
                        if self.random.percent(4) { None } else { Some(format!("{}.{}", self.random.below(40), self.random.below(10))) };
                    let added = date(FIRST_DAY + self.random.below(DAYS));
                    prices.push(price);
                    let row = [
                        Number(prices.len() as i64),
                        Text(&name),
                        Text(category),
                        Text(&price_text),
                        Text(&cost_text),
                        // The column is REAL, so SQLite converts the string.
                        weight.as_deref().map_or(Null, Text),
                        Text(&added),
                    ];
                    self.insert("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?)", &row)?;
                }
            }
        }
        Ok(prices)
    }

    fn insert_customer(&mut self, id: i64, products: &[Price]) -> Result<(), store::Error> {
        let region = &REGIONS[self.random.weighted(&[("0", 42), ("1", 33), ("2", 25)]).parse().unwrap_or(0)];
        let country = self.random.pick(region.countries);
        let (first, last) = (self.random.pick_word(region.first_names), self.random.pick_word(region.last_names));
        let (name, email) = (format!("{first} {last}"), format!("{}.{}{id}@{}", ascii(first), ascii(last), self.random.pick(&DOMAINS)));
        let phone = format!("+{} {} {:07}", country.calling, self.random.between(20, 99), self.random.below(10_000_000));
        let town = self.random.pick(country.towns);
        let key = format!("key_{:016x}", self.random.below(i64::MAX));
        let status = self.random.weighted(&[("active", 70), ("lead", 18), ("gone", 12)]);
        let (credit, since) = (money(self.random.between(0, 40) * 25_000), self.random.below(DAYS - 60));
        let created = self.timestamp(since);
        let deleted = self.random.percent(3).then(|| self.timestamp(DAYS - 1));
        let row = [
            Number(id),
            Text(region.tenant),
            Text(&name),
            Text(&email),
            if self.random.percent(8) { Null } else { Text(&phone) },
            Text(&key),
            Text(status),
            Text(town),
            Text(country.code),
            Number(self.random.below(2)),
            Text(&credit),
            Text(&created),
            deleted.as_deref().map_or(Null, Text),
        ];
        self.insert("INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &row)?;
        for label in 1..=LABELS.len() as i64 {
            if self.random.percent(12) {
                self.insert("INSERT INTO customers_labels VALUES (?, ?)", &[Number(id), Number(label)])?;
            }
        }
        // Some customers order often.
        let most = if id % 20 == 0 { 18 } else { 6 };
        let orders = if status == "lead" { 0 } else { self.random.between(1, most) };
        for _ in 0..orders {
            let day = since + self.random.below(DAYS - since);
            self.insert_order(id, day, products)?;
        }
        Ok(())
    }

    fn insert_order(&mut self, customer: i64, day: i64, products: &[Price]) -> Result<(), store::Error> {
        let lines: Vec<(i64, i64)> = (0..self.random.between(1, 4))
            .map(|_| (self.random.below(products.len() as i64), if self.random.percent(70) { 1 } else { self.random.between(2, 4) }))
            .collect();
        let price = |product: i64| products[product as usize];
        let total = money(lines.iter().map(|(product, quantity)| price(*product) * quantity).sum());
        // The newest orders are still open.
        let settled = day < DAYS - 21;
        let status =
            self.random.weighted(if settled { &[("shipped", 92), ("returned", 8)] } else { &[("new", 40), ("paid", 40), ("shipped", 20)] });
        let placed = self.timestamp(day);
        let note = if self.random.percent(10) { Text(self.random.pick(&NOTES)) } else { Null };
        self.orders += 1;
        let order = Number(self.orders);
        let placed = Text(&placed);
        let row = [order, Number(customer), Text(status), Text(&total), placed, note, placed];
        let statement = "INSERT INTO orders (id, customer_id, status, total, placed_at, note, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)";
        self.insert(statement, &row)?;
        for (product, quantity) in lines {
            self.lines += 1;
            let price = money(price(product));
            let row = [Number(self.lines), order, Number(product + 1), Number(quantity), Text(&price)];
            self.insert("INSERT INTO order_lines VALUES (?, ?, ?, ?, ?)", &row)?;
        }
        Ok(())
    }

    /// A time of a day in business hours, as SQLite stores it.
    fn timestamp(&mut self, day: i64) -> String {
        let seconds = self.random.between(7 * 3_600, 21 * 3_600);
        timestamp_fixed_text((FIRST_DAY + day) * DAY_MICROSECONDS + seconds * 1_000_000)
    }
}

const DOMAINS: [&str; 4] = ["example.com", "example.net", "example.org", "mail.example"];

fn date(day: i64) -> String {
    date_text(day).unwrap_or_default()
}

fn money(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// A name without accents, for an email.
fn ascii(name: &str) -> String {
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
    fn the_manifest_is_valid() {
        let manifest = Manifest::read(MANIFEST).unwrap_or_else(|error| panic!("{error}"));
        Catalog::resolve(&manifest).unwrap_or_else(|error| panic!("{error}"));
    }

    #[test]
    fn every_file_has_the_same_rows_and_a_cancelled_file_is_not_finished() {
        let folder = tempfile::tempdir().expect("a folder");
        let files: Vec<Vec<u8>> = ["a.db", "b.db"]
            .iter()
            .map(|name| {
                let path = folder.path().join(name);
                create(&path, &Cancellation::default(), |_, _| ()).expect("a file");
                std::fs::read(path).expect("a file")
            })
            .collect();
        assert!(files[0].len() > 1_000_000 && files[0] == files[1]);
        let cancellation = Cancellation::default();
        cancellation.cancel();
        assert!(matches!(create(&folder.path().join("c.db"), &cancellation, |_, _| ()), Err(PrepareError::Cancelled)));
    }
}
