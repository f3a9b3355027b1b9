// Package instrument measures a provider: a span, a count, a duration and a log
// line for every call, labelled by the type of provider, the method and the
// outcome.
//
// The wiring wraps each provider once, when it registers it. The wrapper has
// exactly the optional interfaces of what it wraps, but for two that Wrap names, so that a type assertion on it
// tells the truth; what must never happen here is a label with many values (instances, tenants,
// registry keys stay in spans and logs) or a request, output or environment in any of
// the three.
package instrument
