package provider

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/expr"
)

// The two formats, by the names that items use.
const (
	anthropicMessages = "anthropic-messages"
	openaiChat        = "openai-chat"
)

// Provider is a parsed provider item: an address, a request format, and models. It does not change
// and is safe for concurrent use.
type Provider struct {
	ID     string  // of the item
	Secret string  // the name of the secret that the address needs; "" for none
	Models []Model // as listed; the slice belongs to the Provider

	endpoint endpoint
	request  request
	caching  caching
	stream   stream
	echo     []string
	finish   map[string]string
	usage    usageMap
	errors   errorMap
	others   *Model
	worst    *prices
	fallback map[string][]string
	retry    Retry
}

type endpoint struct {
	base    *url.URL
	path    string
	query   map[string]string
	headers map[string]string
	auth    string // header, bearer, query or none
	name    string // of the header or the query parameter

	connect, firstByte, idle time.Duration
}

type request struct {
	encoder    string
	maxTokens  string
	systemRole string
	parallel   *bool
	streamed   bool
	usage      bool // stream_options.include_usage
	extra      members
}

type caching struct {
	mode          string // none, implicit, breakpoints or key
	tools, system bool
	last          int
	ttl           string
	key           string
}

type stream struct{ endAtFinish bool }

// Retry are the rules for sending the same request again.
type Retry struct {
	Attempts int           // in total, at least 1
	Base     time.Duration // of the first wait
	Max      time.Duration // of one wait, including a wait that the provider asks for
	Elapsed  time.Duration // from the first attempt to the start of the last
	Streamed bool          // also after a part of an answer arrived
}

// Retry returns the item's rules. Wait follows all of them except Elapsed, which only the caller
// can measure.
func (p *Provider) Retry() Retry { return p.retry }

// Fallback returns the models to try in turn after a failure of a class, by name or tier;
// nil for none.
func (p *Provider) Fallback(class string) []string { return slices.Clone(p.fallback[class]) }

// Parse reads the config of a provider item with that id. It refuses all unknown or invalid fields
// with fault.Malformed, and the error names the field. docs/format/provider.md is normative.
func Parse(id string, doc map[string]any) (*Provider, error) {
	r := &reader{id: words.Brief(id)}
	g := r.group("", doc)
	p := &Provider{ID: id}
	p.readEndpoint(g.group("endpoint"))
	p.readRequest(g.group("request"))
	p.readCaching(g.group("caching"))
	p.readStream(g.group("stream"))
	p.readEcho(g.group("echo"))
	p.readFinish(g.group("finish"))
	p.readUsage(g.group("usage"))
	p.readErrors(g.group("errors"))
	p.readModels(g)
	p.readFallback(g.group("fallback"))
	p.readRetry(g.group("retry"))
	g.end()
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}

func (p *Provider) readEndpoint(g *group) {
	e := &p.endpoint
	base := g.text("base_url")
	e.path = g.text("path")
	if e.path != "" && e.path[0] != '/' || strings.ContainsAny(e.path, "?#") {
		g.fail("path", "%q, want one that begins with / and has no ? or #", words.Brief(e.path))
	}
	e.query = g.pairs("query")
	e.headers = g.pairs("headers")
	for _, name := range sortedKeys(e.headers) {
		if why := badHeader(name); why != "" {
			g.fail("headers."+words.Brief(name), "%s", why)
		}
	}
	p.readAuth(g.group("auth"))
	var wrong string
	if e.base, wrong = parseBase(base, p.Secret != ""); wrong != "" {
		g.fail("base_url", "%s", wrong)
	}
	t := g.group("timeouts")
	e.connect = seconds(t.number("connect", 15, 0.001, 3600))
	e.firstByte = seconds(t.number("first_byte", 300, 0.001, 3600))
	e.idle = seconds(t.number("idle", 120, 0.001, 3600))
	t.end()
	g.end()
}

func (p *Provider) readAuth(g *group) {
	e := &p.endpoint
	e.auth = g.oneOf("type", "none", "header", "bearer", "query", "none")
	e.name = g.text("name")
	p.Secret = g.text("secret")
	named := e.auth == "header" || e.auth == "query"
	switch {
	case (e.name != "") != named:
		g.fail("name", "auth by header or query needs a name, and no other auth takes one")
	case (p.Secret == "") != (e.auth == "none"):
		g.fail("secret", "name a secret, unless auth is none")
	case strings.ContainsAny(p.Secret, " /\\=") || len(p.Secret) > 128:
		g.fail("secret", "want the name of a secret")
	case e.auth == "header":
		if why := badHeader(e.name); why != "" {
			g.fail("name", "%s", why)
		}
	}
	g.end()
}

// badHeader returns the reason why an item may not set a header, or "".
func badHeader(name string) string {
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
	low := strings.ToLower(name)
	if low == "" || strings.Trim(low, token) != "" {
		return "not the name of a header"
	}
	switch low {
	case "host", "content-length", "content-type", "transfer-encoding", "connection", "cookie", "accept-encoding", "accept", "proxy-authorization":
		return "rye sets this header itself"
	}
	return ""
}

// parseBase reads an address. A secret is sent over TLS, or only within this machine.
func parseBase(s string, secret bool) (*url.URL, string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, fmt.Sprintf("%q, want https://host", words.Brief(s))
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, "want an address without user, query and fragment"
	case u.Scheme == "https":
	case u.Scheme != "http":
		return nil, fmt.Sprintf("scheme %q, want https", words.Brief(u.Scheme))
	case secret && !loopback(u.Hostname()):
		return nil, fmt.Sprintf("http to %s would show the secret to the network: want https", words.Brief(u.Host))
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	u.RawPath = strings.TrimSuffix(u.RawPath, "/")
	return u, ""
}

func loopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().IsLoopback()
	}
	return host == "localhost"
}

// hostOf returns host:port, with the default port of the scheme.
func hostOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

func (p *Provider) readRequest(g *group) {
	q := &p.request
	q.encoder = g.oneOf("encoder", "", anthropicMessages, openaiChat)
	if q.encoder == "" {
		g.fail("encoder", "want %s or %s", anthropicMessages, openaiChat)
	}
	q.maxTokens = g.text("max_tokens")
	if q.maxTokens == "" {
		q.maxTokens = map[string]string{anthropicMessages: "max_tokens", openaiChat: "max_completion_tokens"}[q.encoder]
	}
	q.systemRole = g.oneOf("system_role", "system", "system", "developer")
	if v := g.get("parallel"); v != nil {
		yes := g.flag("parallel", true)
		q.parallel = &yes
	}
	q.streamed = g.flag("stream", true)
	q.usage = g.flag("stream_usage", true)
	q.extra = g.members("extra")
	g.reserved("extra", q.extra, p)
	g.end()
}

// written are the members of a request that the encoders write themselves.
var written = []string{"model", "messages", "system", "tools", "tool_choice", "stream", "stream_options", "temperature", "parallel_tool_calls", "max_tokens", "max_completion_tokens", "n"}

// reserved refuses members that the encoder writes itself.
func (g *group) reserved(name string, ms members, p *Provider) {
	for _, m := range ms {
		if slices.Contains(written, m.name) || m.name == p.request.maxTokens {
			g.fail(name+"."+m.name, "the encoder writes this member")
		}
	}
}

func (p *Provider) readCaching(g *group) {
	c := &p.caching
	c.mode = g.oneOf("mode", "none", "none", "implicit", "breakpoints", "key")
	for _, at := range g.texts("at", true) {
		switch at {
		case "tools":
			c.tools = true
		case "system":
			c.system = true
		default:
			g.fail("at", "%q, want tools or system", words.Brief(at))
		}
	}
	c.last = int(g.whole("last", 0, 0, 4))
	c.ttl = g.oneOf("ttl", "5m", "5m", "1h")
	c.key = g.text("key")
	n := c.last
	for _, b := range []bool{c.tools, c.system} {
		if b {
			n++
		}
	}
	switch marks := c.mode == "breakpoints"; {
	case marks != (n > 0):
		g.fail("at", "breakpoints need at or last, and only they have them")
	case n > 4:
		g.fail("last", "%d breakpoints, at most 4 are allowed", n)
	case marks && p.request.encoder != anthropicMessages:
		g.fail("mode", "%s has no breakpoints", p.request.encoder)
	case slices.Contains(written, c.key) || p.request.extra.has(c.key):
		g.fail("key", "the encoder writes the member %q already", c.key)
	case (c.mode == "key") != (c.key != ""):
		g.fail("key", "mode key names a member of the request, and only it does")
	}
	g.end()
}

func (p *Provider) readStream(g *group) {
	d := g.oneOf("decoder", p.request.encoder, anthropicMessages, openaiChat)
	if d != p.request.encoder {
		g.fail("decoder", "%s cannot read the answers of %s", d, p.request.encoder)
	}
	p.stream.endAtFinish = g.oneOf("end", "marker", "marker", "finish") == "finish"
	g.end()
}

func (p *Provider) readEcho(g *group) {
	blocks, fields := g.texts("blocks", true), g.texts("fields", true)
	p.echo = blocks
	switch {
	case p.request.encoder == openaiChat:
		p.echo = fields
		if blocks != nil {
			g.fail("blocks", "%s has fields", openaiChat)
		}
	case fields != nil:
		g.fail("fields", "%s has blocks", anthropicMessages)
	}
	for _, name := range p.echo {
		if slices.Contains([]string{"role", "content", "tool_calls", "text", "tool_use", "tool_result", "refusal"}, name) {
			g.fail("fields", "%q is not an opaque part", name)
		}
	}
	g.end()
}

// stops are the values to which an item may map a word; failed makes the answer a failure.
var stops = []string{StopEnd, StopCalls, StopLength, StopRefusal, StopFilter, StopPause, "failed"}

func (p *Provider) readFinish(g *group) {
	p.finish = map[string]string{}
	for _, word := range sortedKeys(g.m) {
		p.finish[word] = g.oneOf(word, "", stops...)
	}
}

// maxFallback bounds the number of other models that a request may be sent to.
const maxFallback = 8

func (p *Provider) readFallback(g *group) {
	p.fallback = map[string][]string{}
	for _, class := range sortedKeys(g.m) {
		if !slices.Contains(classes, class) {
			g.fail(words.Brief(class), "not a class of failures, want one of %s", strings.Join(classes, ", "))
			return
		}
		if class == Auth || class == Cancelled {
			g.fail(class, "another model does not help against that")
		}
		if p.fallback[class] = g.texts(class, true); len(p.fallback[class]) > maxFallback {
			g.fail(class, "%d models, at most %d", len(p.fallback[class]), maxFallback)
		}
		for _, name := range p.fallback[class] {
			if _, err := p.Model(name); err != nil {
				g.fail(class, "%v", err)
			}
		}
	}
}

func (p *Provider) readRetry(g *group) {
	p.retry = Retry{
		Attempts: int(g.whole("attempts", 4, 1, 20)),
		Base:     seconds(g.number("base", 1, 0.001, 600)),
		Max:      seconds(g.number("max", 60, 0.001, 3600)),
		Elapsed:  seconds(g.number("elapsed", 300, 0, 86400)),
		Streamed: g.flag("streamed", true),
	}
	if p.retry.Max < p.retry.Base {
		g.fail("max", "less than base")
	}
	g.end()
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// rule assigns a class to failures that match a condition.
type rule struct {
	class string
	when  expr.Condition
}

// errorMap describes how a provider reports failures.
type errorMap struct {
	rules     []rule
	code      []string // paths into the body
	message   []string
	requestID []string // headers
	again     string   // header that says whether to retry
	after     []after
}

// after is one place where a provider states the time to wait.
type after struct {
	header    string
	path      string // into the body; either this or header is set
	form      string // seconds, milliseconds, date, duration or unix
	exhausted string // header; the place applies only if its value is 0
}

var afterForms = []string{"seconds", "milliseconds", "date", "duration", "unix"}

func (p *Provider) readErrors(g *group) {
	e := &p.errors
	for i, v := range g.list("rules", false) {
		r := g.r.group(fmt.Sprintf("%s.rules.%d", g.path, i), v)
		class := r.oneOf("class", "", classes...)
		if class == "" {
			r.fail("class", "want one of %s", strings.Join(classes, ", "))
		}
		when, err := expr.ParseCondition(r.get("when"))
		if err != nil || r.m["when"] == nil {
			r.fail("when", "want a condition: %v", err)
		}
		e.rules = append(e.rules, rule{class, when})
		r.end()
	}
	e.code = or(g.texts("code", true), "error.code", "error.type")
	e.message = or(g.texts("message", true), "error.message", "error", "message")
	e.requestID = or(g.texts("request_id", true), "request-id", "x-request-id")
	e.again = g.text("again")
	for i, v := range g.list("after", false) {
		a := g.r.group(fmt.Sprintf("%s.after.%d", g.path, i), v)
		e.after = append(e.after, after{a.text("header"), a.text("path"), a.oneOf("form", "seconds", afterForms...), a.text("exhausted")})
		if (a.m["header"] == nil) == (a.m["path"] == nil) {
			a.fail("header", "want either a header or a path")
		}
		a.end()
	}
	if g.m["after"] == nil {
		e.after = []after{{header: "retry-after", form: "seconds"}}
	}
	g.end()
}

func or(have []string, otherwise ...string) []string {
	if len(have) > 0 {
		return have
	}
	return otherwise
}
