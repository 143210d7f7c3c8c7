//! Traces for an OpenTelemetry collector: the spans of memory operations and model calls, without any text of memories,
//! queries or conversations.
//!
//! The standard variables of OpenTelemetry select the collector, so this program has no settings for it. The names of
//! spans and attributes are those of the [conventions for generative AI](https://github.com/open-telemetry/semantic-conventions-genai).

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::WithHttpConfig as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::sync::OnceLock;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// Returns the layer that sends spans to the collector; `None` if the variables name no collector, or the exporter cannot
/// be created.
pub(crate) fn layer<S: Subscriber + for<'s> LookupSpan<'s>>() -> Option<impl Layer<S>> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_disabled = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value.eq_ignore_ascii_case("true"));
    let has_collector = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"].into_iter().any(is_set);
    if !has_collector || is_disabled {
        return None;
    }
    crate::api::use_ring();
    let client = reqwest::blocking::Client::builder().redirect(reqwest::redirect::Policy::none()).build().ok()?;
    let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().with_http_client(client).build().ok()?;
    let name = std::env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| env!("CARGO_PKG_NAME").to_owned());
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(Resource::builder().with_service_name(name).build())
        .build();
    let tracer = provider.tracer(env!("CARGO_PKG_NAME"));
    // Only the first call creates a provider, because `main` calls this function once.
    let _ = PROVIDER.set(provider);
    // Events are log lines, which can contain paths, so only spans are sent.
    let ours = filter_fn(|metadata| metadata.is_span() && metadata.target().starts_with(env!("CARGO_PKG_NAME")));
    Some(tracing_opentelemetry::layer().with_tracer(tracer).with_location(false).with_threads(false).with_filter(ours))
}

/// Sends the spans that have not been sent yet.
pub(crate) fn finish() {
    if let Some(Err(error)) = PROVIDER.get().map(SdkTracerProvider::shutdown) {
        tracing::warn!(%error, "could not send all traces to the OpenTelemetry collector");
    }
}
