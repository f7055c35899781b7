//! A satellite's login, and the token of a request.

use identity::authorize;
use identity::bearer;
use identity::client::{ClientId, Redirect};
use identity::error::ErrorCode;
use identity::form;
use identity::freshness::{self, Freshness};
use identity::login::{LoginFault, LoginPrompt, LoginRecord, LoginRequest, LoginSecrets, Registration, Sender, begin, finish};
use identity::parameters::Parameters;
use identity::scope::Scope;
use identity::secret_token::{LoginBinding, LoginState};

use crate::support::*;

fn registration() -> Registration {
    Registration {
        issuer: ISSUER.to_owned(),
        client: ClientId::parse("shop").unwrap(),
        redirect: client().redirect,
        scope: Scope::parse("openid"),
    }
}

fn fresh() -> LoginSecrets {
    LoginSecrets { state: LoginState::from_random([11; 32]), verifier: verifier(), binding: LoginBinding::from_random([12; 32]) }
}

fn to(path: &str) -> LoginRequest<'_> {
    LoginRequest { return_to: Some(path), prompt: LoginPrompt::Allowed }
}

fn begun() -> (LoginRecord, String) {
    begin(&registration(), &fresh(), to("/orders?page=2"), NOW)
}

fn finished(sender: Sender<'_>, issuer: Option<&str>, later: i64) -> Result<(), LoginFault> {
    finish(Some(begun().0), sender, issuer, &registration(), seconds(later)).map(|_| ())
}

// contract I14.1
#[test]
fn a_login_sends_the_browser_to_the_hub_with_a_request_that_the_hub_accepts() {
    let (record, address) = begun();
    let query = address.strip_prefix("https://hub.example/authorize?").expect("the hub's authorize");
    let parameters = Parameters::read(form::pairs(query).unwrap()).unwrap();
    assert!(authorize::check(&parameters, Some(&client())).is_ok());
    assert_eq!(parameters.get("code_challenge"), Some(verifier().challenge().as_str()));
    assert_eq!(parameters.get("state"), Some(fresh().state.expose().as_str()));
    assert!(!address.contains(verifier().expose()), "the verifier stays");
    assert_eq!(record.return_to.as_str(), "/orders?page=2");
    assert_eq!(begin(&registration(), &fresh(), to("//evil.example"), NOW).0.return_to.as_str(), "/");
    assert_eq!(format!("{record:?}"), "LoginRecord(/orders?page=2, …)");
}

// contract I30.12
#[test]
fn a_silent_login_asks_the_hub_not_to_ask() {
    let read = |query: &str| {
        let parameters = Parameters::read(form::pairs(query).unwrap()).unwrap();
        LoginRequest::read(&parameters).map(|request| begin(&registration(), &fresh(), request, NOW))
    };
    let (record, url) = read("return_to=/docs&prompt=none").unwrap();
    assert!(url.ends_with("&prompt=none") && record.return_to.is_below("/docs"));
    assert!(!read("return_to=/docs").unwrap().1.contains("prompt"));
    assert_eq!(read("prompt=login").unwrap_err().code(), ErrorCode::InvalidRequest);
    for (path, below) in [("/docs/", true), ("/docs?a=b", true), ("/docs#c", true), ("/docsome", false), ("/", false), ("/a/docs", false)] {
        assert_eq!(begin(&registration(), &fresh(), to(path), NOW).0.return_to.is_below("/docs"), below, "{path}");
    }
}

// contract E8.9
#[test]
fn a_redirect_uri_has_a_path() {
    for (text, path) in [
        ("https://shop.example/callback", "/callback"),
        ("https://shop.example/a/b?c=/d", "/a/b"),
        ("https://shop.example/", "/"),
        ("https://shop.example", "/"),
        ("https://shop.example?c=/d", "/"),
        ("http://127.0.0.1:4001/callback", "/callback"),
        ("http://[::1]:4001/x/", "/x/"),
    ] {
        assert_eq!(Redirect::register(text).unwrap().path(), path, "{text}");
    }
}

// attack 16 // contract I14.2
#[test]
fn a_browser_finishes_only_the_login_it_began() {
    let own = fresh().binding.expose();
    let other = LoginBinding::from_random([13; 32]).expose();
    assert_eq!(finished(Sender::Browser(Some(&own)), None, 0), Ok(()));
    for cookie in [None, Some(other.as_str()), Some(""), Some("x")] {
        assert_eq!(finished(Sender::Browser(cookie), None, 0), Err(LoginFault::Unbound), "{cookie:?}");
    }
    assert_eq!(finished(Sender::Program, None, 0), Ok(()));
    assert_eq!(finished(Sender::Unbound, None, 0), Ok(()));
}

// attack 16 // contract I14.2
#[test]
fn a_login_takes_ten_minutes_at_most_and_is_finished_once() {
    assert_eq!(finished(Sender::Program, None, 599), Ok(()));
    assert_eq!(finished(Sender::Program, None, 600), Err(LoginFault::Unknown));
    assert_eq!(finish(None, Sender::Program, None, &registration(), NOW).unwrap_err(), LoginFault::Unknown);
}

// attack 10 // contract I14.3
#[test]
fn an_answer_of_another_hub_is_refused() {
    assert_eq!(finished(Sender::Program, Some(ISSUER), 0), Ok(()));
    for issuer in ["https://evil.example", "https://hub.example/", ""] {
        assert_eq!(finished(Sender::Program, Some(issuer), 0), Err(LoginFault::Issuer), "{issuer}");
    }
}

// contract I14.4
#[test]
fn the_token_of_a_request_is_a_bearer_in_its_header() {
    assert_eq!(bearer::read(&[]), Ok(None));
    for header in ["Bearer a.b-c_d", "bearer a.b-c_d", "BEARER  a.b-c_d "] {
        assert_eq!(bearer::read(&[header]), Ok(Some("a.b-c_d")), "{header}");
    }
    for header in ["", "Bearer", "Bearer ", "Basic a", "Bearer a b", "Bearer a,b", "Bearer é", "a.b.c"] {
        assert_eq!(bearer::read(&[header]).unwrap_err().code(), ErrorCode::InvalidToken, "{header}");
    }
    assert_eq!(bearer::read(&["Bearer a", "Bearer a"]).unwrap_err().code(), ErrorCode::InvalidRequest);
    // Or in a form, where one is read, and then not in both.
    assert_eq!(bearer::or_posted(None, Some("a.b-c_d")), Ok(Some("a.b-c_d")));
    assert_eq!(bearer::or_posted(Some("a"), None), Ok(Some("a")));
    assert_eq!(bearer::or_posted(None, None), Ok(None));
    for (header, posted, code) in [
        (Some("a"), Some("a"), ErrorCode::InvalidRequest),
        (None, Some("a b"), ErrorCode::InvalidToken),
        (None, Some(""), ErrorCode::InvalidToken),
    ] {
        assert_eq!(bearer::or_posted(header, posted).unwrap_err().code(), code, "{header:?} {posted:?}");
    }
}

// attack 24, attack 45 // contract I14.5
#[test]
fn an_account_is_current_for_two_minutes_and_bridges_fifteen() {
    let at = |later: i64| freshness::account(NOW, seconds(3_600), seconds(later));
    assert_eq!([at(0), at(119)], [Freshness::Current; 2]);
    assert_eq!([at(120), at(899)], [Freshness::Bridging; 2]);
    assert_eq!([at(900), at(3_600)], [Freshness::Over; 2]);
    assert_eq!(freshness::account(NOW, seconds(60), seconds(60)), Freshness::Over, "no longer than its token");
}

// attack 22, attack 24 // contract I14.5
#[test]
fn keys_do_not_serve_for_ever_and_are_asked_for_every_thirty_seconds_at_most() {
    let at = |later: i64| freshness::key_set(NOW, seconds(later));
    assert_eq!([at(299), at(300), at(899), at(900)], [Freshness::Current, Freshness::Bridging, Freshness::Bridging, Freshness::Over]);
    assert!(freshness::may_refetch(None, NOW));
    assert!(!freshness::may_refetch(Some(NOW), seconds(29)) && freshness::may_refetch(Some(NOW), seconds(30)));
}

// attack 16 // contract I14.6
#[test]
fn what_is_kept_of_a_login_can_be_read_with_its_state_alone() {
    let (record, _) = begun();
    let state = fresh().state;
    let sealed = record.seal(&state).expect("sealed");
    let opened = LoginRecord::open(&sealed, &state).expect("opened");
    assert_eq!(opened.verifier.expose(), record.verifier.expose());
    assert_eq!((opened.binding, opened.return_to, opened.expires_at), (record.binding, record.return_to, record.expires_at));
    assert_eq!(opened.state, state.digest());
    let text = String::from_utf8_lossy(&sealed);
    assert!(!text.contains(verifier().expose()) && !text.contains("orders"), "nothing of it is in the clear");
    assert!(LoginRecord::open(&sealed, &LoginState::from_random([14; 32])).is_none());
    let mut changed = sealed.clone();
    changed[3] ^= 1;
    assert!(LoginRecord::open(&changed, &state).is_none());
    assert!(LoginRecord::open(&[], &state).is_none());
}
