//! What a browser may be sent to, and where it may come from.

use identity::origin::{Provenance, is_origin, provenance};
use identity::return_path::AppReturnPath;
use identity::return_path::HubReturnPath;

// contract I10.1
#[test]
fn a_path_of_the_hub_is_continued() {
    for own in [
        "/",
        "/authorize?client_id=shop&state=a%2Fb%3D%26",
        "/api/o-auth/authorize?x=1",
        "/account",
        "/sign-in",
        "/a?b=https://x.example/@//",
    ] {
        assert_eq!(HubReturnPath::read(Some(own)).as_str(), own);
    }
}

// contract I30.1
#[test]
fn a_path_of_an_app_may_be_any_that_stays_in_it() {
    for own in [
        "/",
        "/a%20b",
        "/a b",
        "/%C3%A4",
        "/ä",
        "/users/@me",
        "/x;y=1",
        "/a+b",
        "/#/orders",
        "/o/2026-01-01T00:00",
        "/orders?next=https://x.example//a%0Ab#part",
        "/.well-known/x",
    ] {
        assert_eq!(AppReturnPath::read(Some(own)).as_str(), own);
    }
    for foreign in [
        "",
        "orders",
        "//evil.example",
        "/\\evil.example",
        "\\/evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        " /orders",
        "/orders\r\nLocation: https://evil.example",
        "/orders?x=\\",
        "/..//evil.example",
        "/../evil",
        "/./evil",
        "/a/%2e%2E/evil",
        "/a//evil.example",
        "/%2f%2fevil.example",
        "/%2F/evil.example",
        "/%2fevil.example",
        "/%5cevil.example",
        "/%09/evil.example",
        "/%252fevil.example",
        "/%25252525252fevil.example",
        "/%0d%0aevil",
        "/%zz",
        "/%FF",
        "?x=/",
        "#/orders",
        "https://evil.example",
        "javascript:alert(1)",
    ] {
        assert_eq!(AppReturnPath::read(Some(foreign)).as_str(), "/", "{foreign:?}");
    }
    assert_eq!(AppReturnPath::read(None).as_str(), "/");
    assert_eq!(AppReturnPath::read(Some(&format!("/{}", "x".repeat(2_048)))).as_str(), "/", "too long");
    let long = format!("/{}", "x".repeat(2_047));
    assert_eq!(AppReturnPath::read(Some(&long)).as_str(), long);
}

// attack 13 // contract I10.1
#[test]
fn anything_else_becomes_the_root() {
    for foreign in [
        "",
        "authorize",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\/evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\t//evil.example",
        " //evil.example",
        " /authorize",
        "/authorize ",
        "/authorize\r\nLocation: https://evil.example",
        "/authorize?x=\r\ny",
        "/authorize?x=a b",
        "/authorize?x=\"><script>",
        "/authorize?x=\\",
        "/authorize#//evil.example",
        "/authorize?x#y",
        "/authorize@evil.example",
        "/authorize:80@evil.example",
        "/.evil.example",
        "/..//evil.example",
        "/../evil",
        "/./evil",
        "/a/../../evil",
        "/a//evil.example",
        "/%2f%2fevil.example",
        "/%2F/evil.example",
        "/%5cevil.example",
        "/%09/evil.example",
        "/%252fevil.example",
        "/%0d%0aevil",
        "https://evil.example",
        "https:evil.example",
        "https:/evil.example",
        "HTTPS://evil.example/authorize",
        "http://hub.example/authorize",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "?x=1",
        "#x",
        "/é",
        "/authorize?x=é",
        "/\u{200b}/evil.example",
        "/\0",
        "/。/evil.example",
    ] {
        assert_eq!(HubReturnPath::read(Some(foreign)).as_str(), "/", "{foreign:?}");
    }
    assert_eq!(HubReturnPath::read(None).as_str(), "/");
    assert!(HubReturnPath::read(Some(&format!("/{}", "x".repeat(40_000)))).as_str() == "/", "too long");
}

// attack 15 // contract I10.2
#[test]
fn a_post_of_another_page_is_told_from_one_of_ours() {
    let own = "https://hub.example";
    for (origin, site) in [
        (vec![], vec![]),
        (vec![own], vec![]),
        (vec![own], vec!["same-origin"]),
        (vec![], vec!["same-origin"]),
        (vec![], vec!["none"]),
        (vec![own], vec!["none"]),
        (vec!["null"], vec!["same-origin"]),
    ] {
        assert_eq!(provenance(&origin, &site, own), Provenance::Own, "{origin:?} {site:?}");
    }
    for (origin, site) in [
        (vec!["https://evil.example"], vec![]),
        (vec!["https://evil.example"], vec!["same-origin"]),
        (vec!["https://hub.example.evil.example"], vec![]),
        (vec!["http://hub.example"], vec![]),
        (vec!["https://hub.example:8443"], vec![]),
        (vec!["https://hub.example/"], vec![]),
        (vec!["HTTPS://HUB.EXAMPLE"], vec![]),
        (vec![""], vec![]),
        (vec!["null"], vec![]),
        (vec!["null"], vec!["none"]),
        (vec!["null"], vec!["cross-site"]),
        (vec![own], vec!["cross-site"]),
        (vec![own], vec!["same-site"]),
        (vec![], vec!["cross-site"]),
        (vec![], vec!["same-site"]),
        (vec![], vec!["Same-Origin"]),
        (vec![], vec![""]),
        (vec![own, own], vec![]),
        (vec![own], vec!["same-origin", "cross-site"]),
    ] {
        assert_eq!(provenance(&origin, &site, own), Provenance::Foreign, "{origin:?} {site:?}");
    }
}

// contract I10.2
#[test]
fn an_origin_is_ours_however_its_operator_spells_it() {
    for (own, sent) in [
        ("https://Hub.Example", "https://hub.example"),
        ("https://hub.example:443", "https://hub.example"),
        ("http://hub.example:80", "http://hub.example"),
        ("https://hub.example:80", "https://hub.example:80"),
        ("http://[::1]:80", "http://[::1]"),
    ] {
        assert_eq!(provenance(&[sent], &[], own), Provenance::Own, "{own}");
    }
    for (own, sent) in [("https://hub.example:8443", "https://hub.example"), ("http://hub.example:443", "http://hub.example")] {
        assert_eq!(provenance(&[sent], &[], own), Provenance::Foreign, "{own}");
    }
}

// contract B1.4
#[test]
fn an_origin_is_a_scheme_a_host_and_perhaps_a_port() {
    for good in [
        "https://a",
        "https://a.example",
        "https://A-1.example_x.test:8443",
        "https://a.example.",
        "http://127.0.0.1:1",
        "http://[::1]",
        "http://[2001:db8::1]:65535",
        "https://4000.example",
    ] {
        assert!(is_origin(good), "{good}");
    }
    let long = format!("https://{}.example", "a".repeat(64));
    for bad in [
        "",
        "https://",
        "https:a",
        "ftp://a",
        "HTTPS://a",
        "https://a/",
        "https://a/b",
        "https://a?b",
        "https://a#b",
        "https://u@a",
        "https://:443",
        "https://a:",
        "https://a:0",
        "https://a:65536",
        "https://a:+1",
        "https://a:080",
        "https://a:1:2",
        "https://a: 1",
        "http://[::1",
        "http://[]",
        "http://[::g]",
        "http://[1:2]",
        "http://[::1]x",
        "http://[::1]:",
        "http://::1",
        "http://[127.0.0.1]",
        "https://\"a\"",
        "https://a<b",
        "https://a..b",
        "https://.a",
        "https://.",
        "https://a%41",
        "https://a;b",
        "https://a,b",
        "https://a b",
        "https://a\nb",
        "https://a\0",
        "https://a\u{7f}",
        "https://ä",
        "https://a\\b",
        "https://a|b",
        "https://1.2.3",
        "https://256.0.0.1",
        "https://*",
        "https://*.a",
        "null",
        long.as_str(),
    ] {
        assert!(!is_origin(bad), "{bad:?}");
    }
}
