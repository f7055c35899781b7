//! The hub's figures for `/metrics`: sign-ins, tokens and the queue of password hashing.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use crate::metrics::{Labelled, write_gauges};

use super::password_hasher::PasswordHasher;

const GRANTS: [&str; 3] = ["authorization_code", "refresh_token", "password"];
const SIGN_IN_RESULTS: [&str; 2] = ["ok", "failed"];

#[derive(Debug, Default)]
pub(super) struct HubMetrics {
    sign_ins: Labelled<Counter>,
    tokens: Labelled<Counter>,
}

impl HubMetrics {
    pub(super) fn sign_in(&self, result: Result<(), ()>) {
        self.sign_ins.get_or_create(&[("result", if result.is_ok() { "ok" } else { "failed" })]).inc();
    }

    pub(super) fn tokens_issued(&self, grant: Option<&str>) {
        if let Some(grant) = GRANTS.into_iter().find(|known| Some(*known) == grant) {
            self.tokens.get_or_create(&[("grant", grant)]).inc();
        }
    }

    pub(super) fn register(&self, hasher: &PasswordHasher, registry: &mut Registry) {
        for result in SIGN_IN_RESULTS {
            drop(self.sign_ins.get_or_create(&[("result", result)]));
        }
        for grant in GRANTS {
            drop(self.tokens.get_or_create(&[("grant", grant)]));
        }
        registry.register("peristyle_hub_sign_ins", "Passwords checked, by result", self.sign_ins.clone());
        registry.register("peristyle_hub_tokens_issued", "Token responses, by grant", self.tokens.clone());
        registry.register_collector(Box::new(hasher.clone()));
    }
}

impl Collector for PasswordHasher {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (waiting, running) = self.queue_lengths();
        let values = [([("state", "waiting")], waiting), ([("state", "running")], running)];
        write_gauges(&mut encoder, "peristyle_hub_password_hashes", "Passwords that are being hashed or wait for it.", values)
    }
}

#[cfg(test)]
mod tests {

    use crate::metrics::Metrics;

    use super::*;

    #[test]
    fn sign_ins_and_tokens_are_counted_by_result_and_grant() {
        let (metrics, hub) = (Metrics::default(), HubMetrics::default());
        metrics.register(|registry| hub.register(&PasswordHasher::new(), registry));
        hub.sign_in(Ok(()));
        hub.sign_in(Err(()));
        for grant in [Some("password"), Some("a grant of the client's own"), None] {
            hub.tokens_issued(grant);
        }
        let text = metrics.text();
        for line in [
            "peristyle_hub_sign_ins_total{result=\"ok\"} 1",
            "peristyle_hub_sign_ins_total{result=\"failed\"} 1",
            "peristyle_hub_tokens_issued_total{grant=\"password\"} 1",
            "peristyle_hub_tokens_issued_total{grant=\"refresh_token\"} 0",
            "peristyle_hub_password_hashes{state=\"waiting\"} 0",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert_eq!(text.matches("peristyle_hub_tokens_issued_total{").count(), GRANTS.len(), "no client adds a label: {text}");
    }
}
