//! The data of the oracle's fixture that a viewer may not see, and a script that changes exactly that.

use crate::support::Backend;

/// Conditions for the rows that a viewer may not see, and the fields that it sees masked.
pub(crate) struct Sight {
    pub(crate) viewer: &'static str,
    account: &'static str,
    customers: &'static str,
    departments: &'static str,
    employees: &'static str,
    /// Data that the viewer sees, which stays unchanged.
    spared: &'static [Spared],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spared {
    /// `email` and `phone`; otherwise they change behind equal masks.
    Contacts,
    Credit,
    Salary,
    /// The keys of visits.
    Visits,
    /// The values of orders; the policy of their lines counts orders that a viewer may not read.
    Orders,
}

const DELETED: &str = "deleted_at IS NOT NULL";
const TENANT: &str = "aaaaaaaa-0000-4000-8000-000000000001";

pub(crate) const FULL: Sight = Sight {
    viewer: "full",
    account: "11111111-1111-4111-8111-111111111111",
    customers: DELETED,
    departments: "region IS DISTINCT FROM 'north'",
    employees: "left_at IS NOT NULL OR clearance > 9",
    spared: &[Spared::Contacts, Spared::Credit, Spared::Salary, Spared::Visits, Spared::Orders],
};

pub(crate) const CLERK: Sight = Sight {
    viewer: "clerk",
    account: "22222222-2222-4222-8222-222222222222",
    customers: "deleted_at IS NOT NULL OR tenant_id <> 'aaaaaaaa-0000-4000-8000-000000000001'",
    departments: "region IS DISTINCT FROM 'south'",
    employees: "left_at IS NOT NULL OR clearance > 3",
    spared: &[Spared::Orders],
};

pub(crate) const OUTSIDER: Sight = Sight {
    viewer: "outsider",
    account: "33333333-3333-4333-8333-333333333333",
    customers: "deleted_at IS NOT NULL OR tenant_id NOT IN ('bbbbbbbb-0000-4000-8000-000000000002', 'cccccccc-0000-4000-8000-000000000003')",
    employees: "left_at IS NOT NULL OR clearance > 5",
    spared: &[Spared::Contacts],
    ..FULL
};

pub(crate) const PAYROLL: Sight = Sight {
    viewer: "payroll",
    account: "44444444-4444-4444-8444-444444444444",
    customers: "1 = 1",
    spared: &[Spared::Contacts, Spared::Salary, Spared::Orders],
    ..FULL
};

/// The account has values of the wrong types, so that every constraint on them fails closed.
pub(crate) const CROOKED: Sight = Sight {
    viewer: "crooked",
    account: "55555555-5555-4555-8555-555555555555",
    customers: "1 = 1",
    departments: "1 = 1",
    employees: "1 = 1",
    spared: &[Spared::Contacts, Spared::Orders],
};

pub(crate) const ANONYMOUS: Sight =
    Sight { viewer: "anonymous", account: "00000000-0000-0000-0000-000000000000", spared: &[Spared::Contacts], ..CROOKED };

impl Sight {
    /// Statements that change invisible data; each changes something.
    pub(crate) fn twists(&self, backend: Backend) -> Vec<String> {
        let postgres = backend == Backend::Postgres;
        let (customers, departments, employees) = (self.customers, self.departments, self.employees);
        let unseen = format!("SELECT id FROM customers WHERE {customers}");
        let orders = format!("deleted_at IS NOT NULL OR customer_id IN ({unseen})");
        let unseen_orders = format!("SELECT id FROM orders WHERE {orders}");
        let unseen_staff = format!("SELECT id FROM employees WHERE {employees}");
        let reviews = format!(
            "employee_id IN ({unseen_staff}) OR employee_id IN (SELECT id FROM employees WHERE department_id IS NULL OR department_id IN (SELECT id FROM departments WHERE {departments}))"
        );
        let public = if postgres { "is_public" } else { "is_public = 1" };
        let documents = format!("NOT (owner_id = '{}' OR {public})", self.account);
        let (empty, at) = if postgres { ("'{}'", "strpos(email, '@')") } else { ("'[]'", "instr(email, '@')") };
        let foreign = "'dddddddd-0000-4000-8000-00000000000d'";
        let country = "(SELECT max(code) FROM countries)";
        let mut all = vec![
            // Hidden columns, of all rows.
            "UPDATE customers SET api_key = 'Ana'".to_owned(),
            "UPDATE shipments SET tracking = 'van'".to_owned(),
            "UPDATE documents SET internal_code = id, keywords = NULL".to_owned(),
            "UPDATE customers SET secret_note = CASE WHEN secret_note IS NULL THEN 'Ana' END".to_owned(),
            "UPDATE employees SET badge = 'longer-' || badge WHERE length(badge) > 4".to_owned(),
            "UPDATE employees SET badge = 'ivy' WHERE length(badge) <= 4".to_owned(),
            // Customers of others, and deleted ones.
            format!(
                "UPDATE customers SET tenant_id = {foreign}, name = 'Ana', email = 'ana@example.org', phone = '1234', status = 'lead', tags = {empty}, \
                 profile = '[1]', balance = '10.5000', score = 2.0, country_code = {country}, birthday = '2000-02-29', wakes_at = '07:30:00', \
                 created_at = '2024-02-29T12:00:00.000000Z' WHERE {customers}"
            ),
            format!(
                "INSERT INTO customers (id, tenant_id, name, status, balance, country_code, created_at, deleted_at) VALUES \
                 (777001, {foreign}, 'Ana', 'active', '0.0001', {country}, '2024-02-29T12:00:00.000000Z', '2024-03-01T00:00:00.000000Z'), \
                 (777002, '{TENANT}', 'ana', 'lead', '9999999999999999.9999', {country}, '1999-12-31T00:00:00.000001Z', '2024-03-01T00:00:00.000000Z')"
            ),
            format!("DELETE FROM customers_labels WHERE customer_id IN ({unseen})"),
            format!("INSERT INTO customers_labels (customer_id, label_id) SELECT id, 2 FROM customers WHERE {customers}"),
            // Orders of theirs, and deleted ones.
            format!(
                "UPDATE orders SET channel = 'web', external_id = id, placed_on = '2024-02-29', grand_total = '19.9900', currency = 'EUR', \
                 paid_at = '2024-05-01T08:00:00.000000Z', \"references\" = {empty} WHERE {orders}"
            ),
            "INSERT INTO orders (id, customer_id, channel, placed_on, grand_total, deleted_at) VALUES \
             ('dddddddd-0000-4000-8000-0000000000f1', 777001, 'shop', '2024-01-01', '12345678901234.5678', NULL), \
             ('dddddddd-0000-4000-8000-0000000000f2', (SELECT max(id) FROM customers), 'web', '2024-01-01', '100.0000', '2024-06-01T00:00:00.000001Z'), \
             ('dddddddd-0000-4000-8000-0000000000f3', NULL, 'web', '2024-01-01', '100.0000', '2024-06-01T00:00:00.000001Z')"
                .to_owned(),
            format!(
                "UPDATE order_lines SET sku = 'SKU-1', quantity = 2, unit_price = '9.9900', discount = 0.25, \"the \"\"note\"\"\" = 'gift', options = '[1]' \
                 WHERE order_id IN ({unseen_orders})"
            ),
            format!("INSERT INTO order_lines (order_id, line_number, sku, quantity, unit_price) SELECT id, 9, 'SKU-0', 2, '0.0100' FROM orders WHERE {orders}"),
            "UPDATE shipments SET order_id = NULL, line_number = NULL, carrier = 'bike', weight = 12.0, leaves_at = '06:00:00' WHERE voided_at IS NOT NULL".to_owned(),
            "INSERT INTO shipments (id, weight, tracking, voided_at) VALUES (99001, 12.0, 'x', '2024-07-01T10:00:00.000000Z')".to_owned(),
            // The organisation.
            format!("UPDATE departments SET name = 'Sales', region = 'nowhere', opens_at = '08:00:00', settings = '[]', budget = '1000.0000' WHERE {departments}"),
            "INSERT INTO departments (id, name, region, opens_at, settings, budget) VALUES (901, 'Sales', NULL, '08:00:00', '{}', '1000.0000')".to_owned(),
            format!(
                "UPDATE employees SET name = 'Ivy', manager_id = 1, department_id = 1, clearance = 10, salary = 1, badge = '0042', grade = 'a', \
                 hired_on = '2020-01-31', skills = {empty}, extension = 100 WHERE {employees}"
            ),
            format!(
                "INSERT INTO employees (id, name, manager_id, department_id, clearance, badge, skills, left_at) VALUES \
                 (901, 'Ivy', 1, 3, 10, '0042', {empty}, NULL), (902, 'ivy', 2, 1, 1, '0042', {empty}, '2023-01-01T00:00:00.000000Z')"
            ),
            format!("UPDATE reviews SET rating = 'good', points = 2.5, comment = 'well done', held_at = NULL WHERE {reviews}"),
            "INSERT INTO reviews (id, employee_id, rating, points, comment) VALUES (90001, 901, 'great', 4.75, 'Naïve'), (90002, 902, 'great', 4.75, '')".to_owned(),
            format!(
                "UPDATE documents SET owner_id = {foreign}, author_id = 1, title = 'Plan', created_at = '2024-08-01T00:00:00.000000Z', reviewers = {empty}, \
                 body = '[1]', pages = 10 WHERE {documents}"
            ),
            format!(
                "INSERT INTO documents (id, owner_id, author_id, title, is_public, created_at, pages) VALUES \
                 ('dddddddd-0000-4000-8000-0000000000e1', {foreign}, 1, 'Plan', {}, '2030-01-01T00:00:00.000000Z', 10)",
                if postgres { "FALSE" } else { "0" }
            ),
        ];
        if !self.spared.contains(&Spared::Contacts) {
            // The same mask for another value.
            all.push(format!("UPDATE customers SET email = substr(email, 1, 1) || 'zz' || substr(email, {at}) WHERE email LIKE '_%@%' AND email NOT LIKE '%@%@%'"));
            all.push("UPDATE customers SET email = 'none-at-all' WHERE email NOT LIKE '%@%'".to_owned());
            all.push("UPDATE customers SET phone = '99' || phone WHERE length(phone) > 4".to_owned());
            all.push("UPDATE customers SET phone = 'zz' WHERE length(phone) <= 4".to_owned());
        }
        if !self.spared.contains(&Spared::Credit) {
            all.push("UPDATE customers SET credit_limit = '0.2500'".to_owned());
        }
        if !self.spared.contains(&Spared::Salary) {
            all.push("UPDATE employees SET salary = 20000, grade = CASE WHEN grade IS NULL THEN 'a' END".to_owned());
        }
        if !self.spared.contains(&Spared::Visits) {
            // Other keys, in another order.
            let (first, rest) = if postgres { ("right(id::text, 2)", "substr(id::text, 3)") } else { ("substr(id, 35)", "substr(id, 3)") };
            let cast = if postgres { "::uuid" } else { "" };
            all.push(format!("UPDATE visits SET id = ({first} || {rest}){cast}"));
        }
        if !self.spared.contains(&Spared::Orders) {
            all.push("UPDATE orders SET channel = 'web', grand_total = '19.9900', currency = 'EUR', placed_on = '2024-02-29'".to_owned());
        }
        all
    }
}
