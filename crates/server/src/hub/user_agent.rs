//! Names the browser and the system of a `User-Agent` for people: "Firefox on Linux". It does not guess an unknown name.

/// Products and their names for people. Most browsers also name the browser they descend from, so the more specific ones come first.
const BROWSERS: [(&str, &str); 14] = [
    ("Edg", "Edge"),
    ("EdgA", "Edge"),
    ("EdgiOS", "Edge"),
    ("OPR", "Opera"),
    ("Vivaldi", "Vivaldi"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("HeadlessChrome", "Chrome"),
    ("Chromium", "Chromium"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
    ("curl", "curl"),
];
/// Words in the comment and the system they mean. Android also says Linux, and iPhones say Mac OS X.
const SYSTEMS: [(&str, &str); 9] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
    ("FreeBSD", "FreeBSD"),
];

pub(crate) fn name(user_agent: Option<&str>) -> String {
    let text = user_agent.unwrap_or_default();
    let (comment, products) = parts(text);
    let is_named = |product: &str| products.split(' ').any(|word| word.split_once('/').is_some_and(|(name, _)| name == product));
    let browser = BROWSERS.iter().find(|(product, _)| is_named(product)).map(|(_, name)| *name);
    let system = SYSTEMS.iter().find(|(word, _)| comment.contains(word)).map(|(_, name)| *name);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, Some(system)) => format!("Unknown browser on {system}"),
        (None, None) => "Unknown device".to_owned(),
    }
}

/// The first comment, which names the system, and the products outside of comments.
fn parts(text: &str) -> (&str, String) {
    let comment = text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(comment, _)| comment);
    let mut products = String::new();
    for piece in text.split(')') {
        products.push_str(piece.split('(').next().unwrap_or_default());
        products.push(' ');
    }
    (comment, products)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER_AGENTS: &str = "\
Firefox on Linux: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0
Edge on Windows: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0
Chrome on Windows: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36
Chrome on Linux: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/139.0.0.0 Safari/537.36
Safari on macOS: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15
Safari on iPhone: Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1
Chrome on iPhone: Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/139.0.0.0 Mobile/15E148 Safari/604.1
Samsung Internet on Android: Mozilla/5.0 (Linux; Android 15; SM-S931B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36
curl: curl/8.14.1";

    #[test]
    fn known_browsers_and_systems_are_named() {
        // contract I22.21
        for line in USER_AGENTS.lines() {
            let (expected, text) = line.split_once(": ").expect("a name and a header");
            assert_eq!(name(Some(text)), expected, "{text}");
        }
    }

    #[test]
    fn an_unknown_name_is_not_guessed() {
        // contract I22.21
        assert_eq!(name(None), "Unknown device");
        assert_eq!(name(Some("")), "Unknown device");
        assert_eq!(name(Some("(((")), "Unknown device");
        assert_eq!(name(Some("<script>alert(1)</script>")), "Unknown device");
        assert_eq!(name(Some("Mozilla/5.0 (X11; Linux x86_64) Lynx")), "Unknown browser on Linux");
        assert_eq!(name(Some("NotFirefox/1 (Firefox/1)")), "Unknown device", "neither a part of a name nor a comment counts");
    }
}
