//! Clients, their secrets and their redirects.

use identity::client::{self, Client, ClientId, ClientIdFault, GrantType, Redirect, RedirectFault, SecretRecord};
use identity::error::ErrorCode;
use identity::lifetime::Lifetimes;
use identity::secret_token::{ClientSecret, RefreshToken};

use crate::support::*;

// attack 50 // contract I2.1
#[test]
fn a_client_id_is_never_an_accounts_id() {
    let account = ACCOUNT.to_string();
    for id in [account.clone(), account.to_uppercase(), account.replace('-', "")] {
        assert_eq!(ClientId::parse(&id), Err(ClientIdFault::Uuid), "{id}");
    }
    for id in [format!("urn:uuid:{account}"), format!("{{{account}}}")] {
        assert!(ClientId::parse(&id).is_err(), "{id}");
    }
}

#[test]
fn a_client_id_is_a_readable_code() {
    for id in ["shop", "a", "shop-web.v2", "odd:id+100%", "team@shop", &"x".repeat(100)] {
        assert_eq!(ClientId::parse(id).unwrap().as_str(), id);
    }
    for id in ["", " shop", "-shop", "sh op", "shop\n", "shöp", "https://hub.example", "a,b", "\"", &"x".repeat(101)] {
        assert_eq!(ClientId::parse(id), Err(ClientIdFault::Shape), "{id}");
    }
}

// attack 28 // contract I2.2
#[test]
fn an_unknown_client_an_inactive_one_and_a_wrong_secret_get_the_same_answer() {
    let good = client();
    assert!(client::authenticate(Some(&good), &secret().expose(), NOW).is_ok());
    let inactive = Client { is_active: false, ..client() };
    let wrong = client::authenticate(Some(&good), "wrong", NOW).unwrap_err();
    assert_eq!(wrong.code(), ErrorCode::InvalidClient);
    for refused in [
        client::authenticate(None, &secret().expose(), NOW),
        client::authenticate(Some(&inactive), &secret().expose(), NOW),
        client::authenticate(Some(&good), "", NOW),
        client::authenticate(Some(&good), &"x".repeat(1_000_000), NOW),
        client::authenticate(Some(&other_client()), &ClientSecret::from_random([0; 32]).expose(), NOW),
    ] {
        assert_eq!(refused.unwrap_err(), wrong);
    }
}

// contract I2.3
#[test]
fn the_old_secret_counts_until_the_overlap_ends_and_never_more_than_two_do() {
    let (first, second, third) = (secret(), ClientSecret::from_random([8; 32]), ClientSecret::from_random([9; 32]));
    let mut client = client();
    let admits =
        |client: &Client, secret: &ClientSecret, later: i64| client::authenticate(Some(client), &secret.expose(), seconds(later)).is_ok();
    client.secret = SecretRecord::new(&first).renew(&second, NOW, 3_600);
    assert!(admits(&client, &first, 0) && admits(&client, &first, 3_599) && admits(&client, &second, 0));
    assert!(!admits(&client, &first, 3_600));
    assert!(admits(&client, &second, 1_000_000));
    client.secret = client.secret.renew(&third, NOW, 3_600);
    assert!(!admits(&client, &first, 0) && admits(&client, &second, 0) && admits(&client, &third, 0));
    client.secret = client.secret.renew(&first, NOW, 0);
    assert!(!admits(&client, &third, 0), "an overlap of nothing ends at once");
}

// attack 9
#[test]
fn what_is_kept_of_a_secret_is_the_sha_256_of_its_text() {
    let secret = ClientSecret::from_random([0; 32]);
    assert_eq!(secret.expose().as_str(), "A".repeat(43));
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, "A".repeat(43).as_bytes());
    assert_eq!(secret.digest().as_bytes(), digest.as_ref());
    assert_eq!(
        format!("{secret:?} {:?} {:?}", secret.digest(), client().secret),
        "SecretToken(…) Digest(…) SecretRecord { current: Digest(…), previous: None }"
    );
}

// attack 9
#[test]
fn an_opaque_token_has_one_spelling() {
    let token = RefreshToken::from_random([255; 32]);
    let text = token.expose().to_string();
    assert_eq!(text, format!("{}8", "_".repeat(42)));
    assert_eq!(RefreshToken::parse(&text).unwrap().digest(), token.digest());
    for other in ["", "x", &text[1..], &format!("{text}="), &format!("{}9", "_".repeat(42)), &text.replace('_', "/"), &format!(" {text}")] {
        assert!(RefreshToken::parse(other).is_none(), "{other}");
    }
}

#[test]
fn grants_have_their_words_and_lifetimes_their_bounds() {
    for grant in GrantType::ALL {
        assert_eq!(GrantType::from_word(grant.as_str()), Some(grant));
    }
    assert_eq!(GrantType::from_word("client_credentials"), None);
    assert!(Lifetimes::new(1, 1).is_ok() && Lifetimes::new(86_400, 31_622_400).is_ok());
    for (access, refresh) in [(0, 1), (-1, 1), (86_401, 1), (1, 0), (1, i64::MAX)] {
        assert!(Lifetimes::new(access, refresh).is_err());
    }
}

#[test]
fn a_redirect_is_an_absolute_https_address_or_one_of_this_machine() {
    for good in [
        "https://app.example/callback",
        "https://app.example",
        "https://app.example:8443/a/b?tenant=1",
        "http://localhost:4001/callback",
        "http://127.0.0.1:4001/callback",
        "http://127.8.9.1/",
        "http://[::1]:4001/callback",
        "http://app.localhost/callback",
        "https://[2001:db8::1]/callback",
    ] {
        assert_eq!(Redirect::register(good).map(|redirect| redirect.as_str().to_owned()), Ok(good.to_owned()));
    }
}

// attack 11 // contract I2.4
#[test]
fn a_redirect_that_could_mislead_is_not_registered() {
    for (bad, fault) in [
        ("", RedirectFault::NotAbsolute),
        ("/callback", RedirectFault::NotAbsolute),
        ("//app.example/callback", RedirectFault::NotAbsolute),
        ("ftp://app.example/", RedirectFault::NotAbsolute),
        ("HTTPS://app.example/", RedirectFault::NotAbsolute),
        ("javascript:alert(1)", RedirectFault::NotAbsolute),
        ("https:app.example", RedirectFault::NotAbsolute),
        ("https://app.example/\r\nX: y", RedirectFault::NotAbsolute),
        ("https://app.example/a b", RedirectFault::NotAbsolute),
        ("https://app.example\\@evil.example/", RedirectFault::NotAbsolute),
        ("https://äpp.example/", RedirectFault::NotAbsolute),
        ("https://app.example/%zz", RedirectFault::NotAbsolute),
        ("https://app.example/#x", RedirectFault::Fragment),
        ("https://app.example/#", RedirectFault::Fragment),
        ("https://user@app.example/", RedirectFault::User),
        ("https://user:password@app.example/", RedirectFault::User),
        ("https://", RedirectFault::Host),
        ("https:///callback", RedirectFault::Host),
        ("https://app.example:0/", RedirectFault::Host),
        ("https://app.example:99999/", RedirectFault::Host),
        ("https://app.example:/", RedirectFault::Host),
        ("https://app.example:+1/", RedirectFault::Host),
        ("https://[::1/", RedirectFault::Host),
        ("https://a%2eb/", RedirectFault::Host),
        ("https://a..b/", RedirectFault::Host),
        ("https://[1:2]/", RedirectFault::Host),
        ("http://app.example/", RedirectFault::NotSecure),
        ("http://10.0.0.1/", RedirectFault::NotSecure),
        ("http://128.0.0.1/", RedirectFault::NotSecure),
        ("http://[::2]/", RedirectFault::NotSecure),
        ("http://localhost.evil.example/", RedirectFault::NotSecure),
        ("http://127.0.0.1.evil.example/", RedirectFault::NotSecure),
        ("http://1270.0.0.1/", RedirectFault::Host),
        ("https://app.example/?code=1", RedirectFault::Query),
        ("https://app.example/?st%61te=1", RedirectFault::Query),
    ] {
        assert_eq!(Redirect::register(bad), Err(fault), "{bad}");
    }
    assert_eq!(Redirect::register(&format!("https://app.example/{}", "x".repeat(2_000))), Err(RedirectFault::NotAbsolute));
}

#[test]
fn parameters_are_added_to_the_query_that_is_there() {
    for (registered, expected) in [
        ("https://a.example/c", "https://a.example/c?code=1%262"),
        ("https://a.example/c?", "https://a.example/c?code=1%262"),
        ("https://a.example/c?x=y", "https://a.example/c?x=y&code=1%262"),
        ("https://a.example/c?x=y&", "https://a.example/c?x=y&code=1%262"),
    ] {
        assert_eq!(Redirect::register(registered).unwrap().with([("code", "1&2")]), expected);
    }
}

#[test]
fn the_way_back_after_a_logout_lies_at_the_redirects_origin() {
    assert_eq!(Redirect::register("https://App.Example:443/c").unwrap().origin(), "https://app.example");
    let redirect = Redirect::register(CALLBACK).unwrap();
    for own in [
        "https://app.example",
        "https://app.example/",
        "https://app.example/bye?x=1",
        "https://app.example#bye",
        "https://app.example/bye#/signed-out",
        "https://app.example/?state=1&code=2",
        "https://APP.example:443/bye",
    ] {
        assert!(redirect.shares_origin(own), "{own}");
    }
    for foreign in [
        "https://app.example:8443/",
        "http://app.example/",
        "https://app.example.evil.example/",
        "https://app.example@evil.example/",
        "https://app.example#@evil.example:443/\\",
        "https://evil.example#https://app.example",
        "https://app.example:80/",
        "/",
        "",
    ] {
        assert!(!redirect.shares_origin(foreign), "{foreign}");
    }
}
