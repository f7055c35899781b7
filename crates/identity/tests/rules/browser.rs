//! What a browser may be sent to, and where it may come from.

use identity::continuation::Continuation;
use identity::origin::{Provenance, provenance};

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
        assert_eq!(Continuation::read(Some(own)).as_str(), own);
    }
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
        assert_eq!(Continuation::read(Some(foreign)).as_str(), "/", "{foreign:?}");
    }
    assert_eq!(Continuation::read(None).as_str(), "/");
    assert!(Continuation::read(Some(&format!("/{}", "x".repeat(40_000)))).as_str() == "/", "too long");
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
