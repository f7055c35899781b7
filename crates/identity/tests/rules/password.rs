//! Passwords and their hashes.

use identity::password::{
    MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARACTERS, Password, PasswordCheck, PasswordFault, PasswordHash, Rehash, Workspace, verify, verify_in,
};

fn password(text: &str) -> Password {
    Password::presented(text).unwrap()
}

fn compared(hash: &str, text: &str) -> PasswordCheck {
    verify(Some(&PasswordHash::parse(hash).unwrap()), &password(text))
}

// contract I7.1
#[test]
fn a_password_is_kept_as_argon2id_with_owasps_parameters() {
    let hash = PasswordHash::make(&password("correct horse"), [1; 16]).unwrap();
    assert!(hash.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$AQEBAQEBAQEBAQEBAQEBAQ$"), "{}", hash.as_str());
    let again = PasswordHash::parse(hash.as_str()).unwrap();
    assert_eq!(again, hash);
    assert_eq!(verify(Some(&again), &password("correct horse")), PasswordCheck::Matches { rehash: Rehash::Current });
    for wrong in ["correct horsf", "Correct horse", "correct horse ", ""] {
        assert_eq!(verify(Some(&again), &password(wrong)), PasswordCheck::Differs, "{wrong}");
    }
}

#[test]
fn memory_that_is_there_changes_nothing() {
    let mut workspace = Workspace::default();
    let (right, kept) = (password("correct horse"), PasswordHash::make(&password("correct horse"), [1; 16]).unwrap());
    let foreign = PasswordHash::parse("$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc").unwrap();
    for _ in 0..2 {
        assert_eq!(PasswordHash::make_in(&mut workspace, &right, [1; 16]).unwrap(), kept);
        assert_eq!(verify_in(&mut workspace, Some(&kept), &right), PasswordCheck::Matches { rehash: Rehash::Current });
        assert_eq!(verify_in(&mut workspace, Some(&foreign), &password("password")), PasswordCheck::Matches { rehash: Rehash::Needed });
    }
}

// attack 33
#[test]
fn a_hash_tells_whether_it_takes_more_memory_than_ours_do() {
    let salt = "c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    for (hash, is_large) in [
        (format!("$argon2id$v=19$m=19456,t=2,p=1${salt}"), false),
        (format!("$argon2id$v=19$m=19456,t=3,p=1${salt}"), false),
        (format!("$argon2id$v=19$m=65536,t=2,p=1${salt}"), true),
        (format!("$scrypt$ln=14,r=8,p=1${salt}"), false),
        (format!("$scrypt$ln=15,r=8,p=1${salt}"), true),
        ("$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW".to_owned(), false),
    ] {
        assert_eq!(PasswordHash::parse(&hash).unwrap().is_large(), is_large, "{hash}");
    }
}

// attack 31
#[test]
fn nobody_has_no_password() {
    for text in ["", "correct horse"] {
        assert_eq!(verify(None, &password(text)), PasswordCheck::Differs);
    }
}

// attack 33 // contract I7.2
#[test]
fn length_is_the_one_rule() {
    assert_eq!(Password::presented(&"x".repeat(MAX_PASSWORD_BYTES + 1)).unwrap_err(), PasswordFault::Long);
    assert_eq!(Password::presented(&"x".repeat(1_000_000)).unwrap_err(), PasswordFault::Long);
    assert!(Password::presented(&"x".repeat(MAX_PASSWORD_BYTES)).is_ok());
    assert!(Password::presented("x").is_ok(), "an old password may be shorter than a new one");
    assert_eq!(Password::chosen(&"é".repeat(MIN_PASSWORD_CHARACTERS - 1)).unwrap_err(), PasswordFault::Short);
    assert!(Password::chosen(&"é".repeat(MIN_PASSWORD_CHARACTERS)).is_ok());
    assert_eq!(Password::chosen(&"é".repeat(MAX_PASSWORD_BYTES)).unwrap_err(), PasswordFault::Long);
}

#[test]
fn neither_a_password_nor_a_hash_shows_itself() {
    let hash = PasswordHash::make(&password("correct horse"), [1; 16]).unwrap();
    assert_eq!(format!("{:?} {hash:?}", password("correct horse")), "Password(…) PasswordHash(argon2id, …)");
}

// contract I7.3
#[test]
fn hashes_from_elsewhere_are_compared_and_then_made_anew() {
    for (hash, right) in [
        // bcrypt, from Openwall's tests
        ("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"),
        ("$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"),
        ("$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"),
        ("bcrypt$$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"),
        // As Django 5.2 writes it
        ("bcrypt_sha256$$2b$05$CCCCCCCCCCCCCCCCCCCCC.bdNwF18LmuBgx.3vdUAHc5aN/.UHaVC", "lètmein"),
        ("bcrypt_sha256$$2b$05$CCCCCCCCCCCCCCCCCCCCC.jkGMyGDwQEPkW62gDnVEt5vQ5TQY40W", "correct horse"),
        // Argon2, from the reference implementation's tests
        ("$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc", "password"),
        ("$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA", "password"),
        ("argon2$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA", "password"),
        // scrypt, from RFC 7914, 12
        (
            "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw",
            "pleaseletmein",
        ),
        (
            "scrypt$1024$seasalt$8$1$b9vqOe0B5HZh2f10Q9RPN9OFNPtmb+ezp5YOlnZsJQ0vQ5I3eq8Zt7GFMuqQ58xCxTIvVL1QCL/PTXEWr+RNHA==",
            "correct horse",
        ),
        // PBKDF2, from RFC 6070 and RFC 7914, 11, then as passlib, the PHC and Django write it
        ("$pbkdf2-sha1$i=4096$c2FsdA$SwB5AbdlSJq+rUnZJvch0GWkKcE", "password"),
        ("$pbkdf2-sha256$i=1$c2FsdA$VawEblbjCJ/sFpHCJUS2BflBhSFt3gRl5oudV8INrLxJypzM8Xm2RZkWZLOdd+8xfHG4RbHjC9UJESBB06GXgw", "passwd"),
        ("$pbkdf2-sha256$29000$c2FsdHNhbHRzYWx0c2FsdA$wdimsZz82dUhh09vxCX.tZ6CiAyYHJSfs9wD5qYnfzg", "correct horse"),
        ("$pbkdf2-sha512$i=1000,l=32$c2FsdHNhbHRzYWx0c2FsdA$EHLBej+uEvxlmr0QnHnceg1vM6h1wbwSP5XErh3Smiw", "correct horse"),
        ("pbkdf2_sha256$1000$seasalt$mQnueSakb748zqBAC1tmWVZsZbi2zPGZarEzTGdfmso=", "correct horse"),
    ] {
        assert_eq!(compared(hash, right), PasswordCheck::Matches { rehash: Rehash::Needed }, "{hash}");
        assert_eq!(compared(hash, "wrong"), PasswordCheck::Differs, "{hash}");
        assert_eq!(compared(hash, ""), PasswordCheck::Differs, "{hash}");
        assert_eq!(PasswordHash::parse(hash).unwrap().as_str(), hash);
    }
}

// attack 33 // contract I7.3
#[test]
fn an_unknown_format_or_a_cost_out_of_bounds_is_refused_with_the_list_of_what_is_accepted() {
    let salt = "c29tZXNhbHQ";
    let output = "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
    let bcrypt = "CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
    for hash in [
        String::new(),
        "secret".to_owned(),
        "5f4dcc3b5aa765d61d8327deb882cf99".to_owned(),
        "{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=".to_owned(),
        "$1$salt$qJH7.N4xYta3aEG/dfqo/0".to_owned(),
        "$6$rounds=5000$salt$abc".to_owned(),
        format!("$2b$31${bcrypt}"),
        format!("$2b$03${bcrypt}"),
        format!("$2x$05${bcrypt}"),
        format!("$2b$05${}", &bcrypt[1..]),
        format!("$argon2id$v=19$m=4194304,t=2,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=19456,t=100,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=19456,t=0,p=1${salt}${output}"),
        format!("$argon2id$v=18$m=19456,t=2,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=19456,m=19456,t=2,p=1${salt}${output}"),
        format!("$argon2id$v=19$m=19456,t=2,p=1${salt}$QUFB"),
        format!("$argon2id$v=19$m=19456,t=2,p=1${salt}${output}$more"),
        format!("$argon2id$v=19$m=19456,t=2${salt}${output}"),
        format!("$scrypt$ln=30,r=8,p=1${salt}${output}"),
        format!("$scrypt$ln=300,r=8,p=1${salt}${output}"),
        format!("$scrypt$ln=14,r=8,p=1000${salt}${output}"),
        format!("$pbkdf2-sha256$i=100000000${salt}${output}"),
        format!("$pbkdf2-sha256$i=0${salt}${output}"),
        format!("$pbkdf2-md5$i=1000${salt}${output}"),
        format!("pbkdf2_sha256$-1$salt${output}="),
        "x".repeat(3_000),
    ] {
        let refused = PasswordHash::parse(&hash).unwrap_err().to_string();
        for name in ["Argon2", "bcrypt", "scrypt", "PBKDF2"] {
            assert!(refused.contains(name), "{hash}: {refused}");
        }
    }
}

// contract I7.3
#[test]
fn all_of_a_long_password_counts_where_it_was_made_shorter_first() {
    let hash = "bcrypt_sha256$$2b$05$CCCCCCCCCCCCCCCCCCCCC.ySq28cyu5WMJkog0C9MAckTbsEq7.5K";
    assert_eq!(compared(hash, &"x".repeat(200)), PasswordCheck::Matches { rehash: Rehash::Needed });
    assert_eq!(compared(hash, &"x".repeat(199)), PasswordCheck::Differs);
}
