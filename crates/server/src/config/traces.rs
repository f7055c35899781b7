//! The settings of OpenTelemetry traces, by the names that OpenTelemetry gives them. Without an endpoint there are no traces.

use std::ffi::OsString;
use std::fmt;

use axum::http::{HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;

use super::{ConfigError, Environment, Setting, VARIABLES, invalid};

const ENDPOINT: &str = "a URL such as http://localhost:4318, without credentials and without a query";
const HEADERS: &str = "a comma-separated list such as authorization=Bearer%20TOKEN";
const SAMPLERS: &str = "always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off or parentbased_traceidratio";

#[derive(Clone)]
pub struct TraceSettings {
    /// The whole URL that spans are sent to.
    pub endpoint: String,
    /// Headers of each export, which often hold a token.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub service_name: String,
    pub sampler: Sampler,
    /// OpenTelemetry's variables for traces that are set and have no effect here.
    pub ignored: Vec<String>,
}

/// Without the headers, which may hold a token.
impl fmt::Debug for TraceSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TraceSettings").field("endpoint", &self.endpoint).field("sampler", &self.sampler).finish_non_exhaustive()
    }
}

/// Which requests are traced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// The share of traces that begin here, from 0 to 1.
    pub ratio: f64,
    /// Whether a caller's `traceparent` decides instead.
    pub parent: ParentDecision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentDecision {
    Followed,
    Ignored,
}

pub(super) fn read(env: Environment<'_>) -> Result<Option<TraceSettings>, ConfigError> {
    let protocol = env.setting("OTEL_EXPORTER_OTLP_PROTOCOL");
    let base = env.setting("OTEL_EXPORTER_OTLP_ENDPOINT").optional(|url| checked(&env.setting("OTEL_EXPORTER_OTLP_ENDPOINT"), url))?;
    let traces = env.setting("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    let traces = traces.optional(|url| checked(&traces, url))?;
    let headers = headers(&env.secret("OTEL_EXPORTER_OTLP_HEADERS"))?;
    let sampler = sampler(&env.setting("OTEL_TRACES_SAMPLER"), &env.setting("OTEL_TRACES_SAMPLER_ARG"))?;
    let service_name = env.setting("OTEL_SERVICE_NAME").value.unwrap_or("peristyle").to_owned();
    let Some(endpoint) = traces.or_else(|| base.map(|base| format!("{}/v1/traces", base.trim_end_matches('/')))) else { return Ok(None) };
    if let Some(other) = protocol.value.filter(|protocol| *protocol != "http/protobuf") {
        return Err(invalid(protocol.name, other, "http/protobuf"));
    }
    Ok(Some(TraceSettings { endpoint, headers, service_name, sampler, ignored: Vec::new() }))
}

/// OpenTelemetry's variables that are set and have no effect. Those of metrics and logs belong to other programs.
pub(super) fn ignored(environment: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let names = environment.filter(|(_, value)| !value.is_empty()).filter_map(|(name, _)| name.into_string().ok());
    let of_others = |name: &str| name.contains("_METRIC") || name.contains("_LOG") || name.contains("_BLRP_");
    let mut ignored: Vec<String> =
        names.filter(|name| name.starts_with("OTEL_") && !of_others(name) && !VARIABLES.split(' ').any(|known| known == name)).collect();
    ignored.sort_unstable();
    ignored
}

fn checked(setting: &Setting<'_>, url: &str) -> Result<String, ConfigError> {
    let uri: Option<Uri> = url.parse().ok();
    let is_valid = uri.is_some_and(|uri| {
        let is_plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@') && !authority.host().is_empty());
        matches!(uri.scheme_str(), Some("http" | "https")) && is_plain && uri.query().is_none()
    });
    if is_valid {
        return Ok(url.to_owned());
    }
    // A query may hold a token.
    let found = url.split_once('?').map_or(url.to_owned(), |(path, _)| format!("{path}?…"));
    Err(invalid(setting.name, &found, ENDPOINT))
}

/// `name=value,…` with percent-encoded values. No message repeats a value.
fn headers(setting: &Setting<'_>) -> Result<Vec<(HeaderName, HeaderValue)>, ConfigError> {
    let parse = |item: &str| {
        let (name, value) = item.split_once('=')?;
        let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
        let mut value = HeaderValue::from_str(&percent_decode_str(value.trim()).decode_utf8().ok()?).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    };
    let refused =
        |number: usize| ConfigError { variable: setting.name, problem: format!("item {} is no header; accepted is {HEADERS}", number + 1) };
    setting.list().enumerate().map(|(number, item)| parse(item).ok_or_else(|| refused(number))).collect()
}

fn sampler(name: &Setting<'_>, argument: &Setting<'_>) -> Result<Sampler, ConfigError> {
    let is_ratio = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let ratio = argument.optional(|text| {
        let ratio = Some(text).filter(is_ratio).and_then(|text| text.parse().ok()).filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.ok_or_else(|| invalid(argument.name, text, "a number from 0 to 1"))
    })?;
    let word = name.value.unwrap_or("parentbased_always_on");
    let (parent, own) = match word.strip_prefix("parentbased_") {
        Some(own) => (ParentDecision::Followed, own),
        None => (ParentDecision::Ignored, word),
    };
    let ratio = match own {
        "always_on" => 1.0,
        "always_off" => 0.0,
        "traceidratio" => ratio.unwrap_or(1.0),
        _ => return Err(invalid(name.name, word, SAMPLERS)),
    };
    Ok(Sampler { ratio, parent })
}

#[cfg(test)]
mod tests {
    use super::super::{Config, ConfigErrors};
    use super::*;

    fn config(pairs: &[(&'static str, &str)]) -> Result<Config, ConfigErrors> {
        Config::from_values(&pairs.iter().map(|(key, value)| (*key, (*value).to_owned())).collect())
    }

    #[test]
    fn traces_need_an_endpoint_and_take_the_standard_variables() {
        assert!(
            config(&[("OTEL_TRACES_SAMPLER_ARG", "0.5"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).expect("no endpoint").traces.is_none()
        );
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://otlp.example/base");
        let traces = |more: &[(&'static str, &str)]| config(&[&[endpoint][..], more].concat()).map(|config| config.traces.expect("traces"));
        let plain = traces(&[]).expect("an endpoint");
        assert_eq!((plain.endpoint.as_str(), plain.service_name.as_str()), ("https://otlp.example/base/v1/traces", "peristyle"));
        assert_eq!(plain.sampler, Sampler { ratio: 1.0, parent: ParentDecision::Followed });
        let exact = traces(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://h:1/x"), ("OTEL_SERVICE_NAME", "shop")]).expect("both");
        assert_eq!((exact.endpoint.as_str(), exact.service_name.as_str()), ("http://h:1/x", "shop"));
        for (name, argument, ratio, parent) in [
            ("always_off", "0.5", 0.0, ParentDecision::Ignored),
            ("traceidratio", "0.25", 0.25, ParentDecision::Ignored),
            ("parentbased_traceidratio", "", 1.0, ParentDecision::Followed),
            ("parentbased_always_off", "", 0.0, ParentDecision::Followed),
        ] {
            let sampler = traces(&[("OTEL_TRACES_SAMPLER", name), ("OTEL_TRACES_SAMPLER_ARG", argument)]).expect(name).sampler;
            assert_eq!(sampler, Sampler { ratio, parent }, "{name}");
        }
        let message = traces(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).expect_err("gRPC").to_string();
        assert!(message.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && message.ends_with("accepted is http/protobuf"), "{message}");
    }

    #[test]
    fn a_standard_variable_without_an_effect_is_found() {
        let set = [
            "OTEL_SDK_DISABLED",
            "OTEL_SERVICE_NAME",
            "OTEL_METRICS_EXPORTER",
            "OTEL_LOG_LEVEL",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
            "PATH",
        ];
        let found = ignored(set.iter().map(|name| (OsString::from(name), OsString::from("x"))));
        assert_eq!(found, ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_SDK_DISABLED"]);
    }

    #[test]
    fn a_token_in_an_endpoint_is_not_repeated() {
        for url in ["https://h/?token=sesame", "https://u:sesame@h/"] {
            let message = config(&[("OTEL_EXPORTER_OTLP_ENDPOINT", url)]).map(|_| ()).expect_err(url).to_string();
            assert!(message.starts_with("OTEL_EXPORTER_OTLP_ENDPOINT: found") && !message.contains("sesame"), "{message}");
        }
    }
}
