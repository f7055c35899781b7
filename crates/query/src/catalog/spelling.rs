//! Names in other spellings: of columns, and in paths.

/// `createdAt` → `created_at`
pub fn snake(name: &str) -> String {
    split(name, '_')
}

/// `appsAccounts` → `apps-accounts`; splits at capitals only.
pub fn kebab(name: &str) -> String {
    split(name, '-')
}

fn split(name: &str, separator: char) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (index, character) in name.chars().enumerate() {
        if character.is_ascii_uppercase() {
            if index > 0 {
                out.push(separator);
            }
            out.push(character.to_ascii_lowercase());
        } else {
            out.push(character);
        }
    }
    out
}
