package provider

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/fields"
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
	g := rules.Read(doc)
	p := &Provider{ID: id}
	p.readEndpoint(g.Group("endpoint"))
	p.readRequest(g.Group("request"))
	p.readCaching(g.Group("caching"))
	p.readStream(g.Group("stream"))
	p.readEcho(g.Group("echo"))
	p.readFinish(g.Group("finish"))
	p.readUsage(g.Group("usage"))
	p.readErrors(g.Group("errors"))
	p.readModels(g)
	p.readFallback(g.Group("fallback"))
	p.readRetry(g.Group("retry"))
	g.End()
	if err := g.Err(); err != nil {
		return nil, fault.New(fault.Malformed, "provider %s: %w", words.Brief(id), err)
	}
	return p, nil
}

func (p *Provider) readEndpoint(g *fields.Group) {
	e := &p.endpoint
	base := g.Text("base_url")
	e.path = g.Text("path")
	if e.path != "" && e.path[0] != '/' || strings.ContainsAny(e.path, "?#") {
		g.Fail("path", "%q, want one that begins with / and has no ? or #", words.Brief(e.path))
	}
	e.query = pairs(g, "query")
	e.headers = pairs(g, "headers")
	for _, name := range sortedKeys(e.headers) {
		if why := badHeader(name); why != "" {
			g.Fail("headers."+words.Brief(name), "%s", why)
		}
	}
	p.readAuth(g.Group("auth"))
	var wrong string
	if e.base, wrong = parseBase(base, p.Secret != ""); wrong != "" {
		g.Fail("base_url", "%s", wrong)
	}
	t := g.Group("timeouts")
	e.connect = seconds(t.Number("connect", 15, 0.001, 3600))
	e.firstByte = seconds(t.Number("first_byte", 300, 0.001, 3600))
	e.idle = seconds(t.Number("idle", 120, 0.001, 3600))
	t.End()
	g.End()
}

func (p *Provider) readAuth(g *fields.Group) {
	e := &p.endpoint
	e.auth = g.OneOf("type", "none", "header", "bearer", "query", "none")
	e.name = g.Text("name")
	p.Secret = g.Text("secret")
	named := e.auth == "header" || e.auth == "query"
	switch {
	case (e.name != "") != named:
		g.Fail("name", "auth by header or query needs a name, and no other auth takes one")
	case (p.Secret == "") != (e.auth == "none"):
		g.Fail("secret", "name a secret, unless auth is none")
	case strings.ContainsAny(p.Secret, " /\\=") || len(p.Secret) > 128:
		g.Fail("secret", "want the name of a secret")
	case e.auth == "header":
		if why := badHeader(e.name); why != "" {
			g.Fail("name", "%s", why)
		}
	}
	g.End()
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

func (p *Provider) readRequest(g *fields.Group) {
	q := &p.request
	q.encoder = g.OneOf("encoder", "", anthropicMessages, openaiChat)
	if q.encoder == "" {
		g.Fail("encoder", "want %s or %s", anthropicMessages, openaiChat)
	}
	q.maxTokens = g.Text("max_tokens")
	if q.maxTokens == "" {
		q.maxTokens = map[string]string{anthropicMessages: "max_tokens", openaiChat: "max_completion_tokens"}[q.encoder]
	}
	q.systemRole = g.OneOf("system_role", "system", "system", "developer")
	if v := g.Get("parallel"); v != nil {
		yes := g.Flag("parallel", true)
		q.parallel = &yes
	}
	q.streamed = g.Flag("stream", true)
	q.usage = g.Flag("stream_usage", true)
	q.extra = membersOf(g, "extra")
	reserved(g, "extra", q.extra, p)
	g.End()
}

// written are the members of a request that the encoders write themselves.
var written = []string{"model", "messages", "system", "tools", "tool_choice", "stream", "stream_options", "temperature", "parallel_tool_calls", "max_tokens", "max_completion_tokens", "n"}

// reserved refuses members that the encoder writes itself.
func reserved(g *fields.Group, name string, ms members, p *Provider) {
	for _, m := range ms {
		if slices.Contains(written, m.name) || m.name == p.request.maxTokens {
			g.Fail(name+"."+m.name, "the encoder writes this member")
		}
	}
}

func (p *Provider) readCaching(g *fields.Group) {
	c := &p.caching
	c.mode = g.OneOf("mode", "none", "none", "implicit", "breakpoints", "key")
	for _, at := range texts(g, "at") {
		switch at {
		case "tools":
			c.tools = true
		case "system":
			c.system = true
		default:
			g.Fail("at", "%q, want tools or system", words.Brief(at))
		}
	}
	c.last = int(g.Whole("last", 0, 0, 4))
	c.ttl = g.OneOf("ttl", "5m", "5m", "1h")
	c.key = g.Text("key")
	n := c.last
	for _, b := range []bool{c.tools, c.system} {
		if b {
			n++
		}
	}
	switch marks := c.mode == "breakpoints"; {
	case marks != (n > 0):
		g.Fail("at", "breakpoints need at or last, and only they have them")
	case n > 4:
		g.Fail("last", "%d breakpoints, at most 4 are allowed", n)
	case marks && p.request.encoder != anthropicMessages:
		g.Fail("mode", "%s has no breakpoints", p.request.encoder)
	case slices.Contains(written, c.key) || p.request.extra.has(c.key):
		g.Fail("key", "the encoder writes the member %q already", c.key)
	case (c.mode == "key") != (c.key != ""):
		g.Fail("key", "mode key names a member of the request, and only it does")
	}
	g.End()
}

func (p *Provider) readStream(g *fields.Group) {
	d := g.OneOf("decoder", p.request.encoder, anthropicMessages, openaiChat)
	if d != p.request.encoder {
		g.Fail("decoder", "%s cannot read the answers of %s", d, p.request.encoder)
	}
	p.stream.endAtFinish = g.OneOf("end", "marker", "marker", "finish") == "finish"
	g.End()
}

func (p *Provider) readEcho(g *fields.Group) {
	blocks, members := texts(g, "blocks"), texts(g, "fields")
	p.echo = blocks
	switch {
	case p.request.encoder == openaiChat:
		p.echo = members
		if blocks != nil {
			g.Fail("blocks", "%s has fields", openaiChat)
		}
	case members != nil:
		g.Fail("fields", "%s has blocks", anthropicMessages)
	}
	for _, name := range p.echo {
		if slices.Contains([]string{"role", "content", "tool_calls", "text", "tool_use", "tool_result", "refusal"}, name) {
			g.Fail("fields", "%q is not an opaque part", name)
		}
	}
	g.End()
}

// stops are the values to which an item may map a word; failed makes the answer a failure.
var stops = []string{StopEnd, StopCalls, StopLength, StopRefusal, StopFilter, StopPause, "failed"}

func (p *Provider) readFinish(g *fields.Group) {
	p.finish = map[string]string{}
	for _, word := range g.Names() {
		p.finish[word] = g.OneOf(word, "", stops...)
	}
}

// maxFallback bounds the number of other models that a request may be sent to.
const maxFallback = 8

func (p *Provider) readFallback(g *fields.Group) {
	p.fallback = map[string][]string{}
	for _, class := range g.Names() {
		if !slices.Contains(classes, class) {
			g.Fail(words.Brief(class), "not a class of failures, want one of %s", strings.Join(classes, ", "))
			return
		}
		if class == Auth || class == Cancelled {
			g.Fail(class, "another model does not help against that")
		}
		if p.fallback[class] = texts(g, class); len(p.fallback[class]) > maxFallback {
			g.Fail(class, "%d models, at most %d", len(p.fallback[class]), maxFallback)
		}
		for _, name := range p.fallback[class] {
			if _, err := p.Model(name); err != nil {
				g.Fail(class, "%v", err)
			}
		}
	}
}

func (p *Provider) readRetry(g *fields.Group) {
	p.retry = Retry{
		Attempts: int(g.Whole("attempts", 4, 1, 20)),
		Base:     seconds(g.Number("base", 1, 0.001, 600)),
		Max:      seconds(g.Number("max", 60, 0.001, 3600)),
		Elapsed:  seconds(g.Number("elapsed", 300, 0, 86400)),
		Streamed: g.Flag("streamed", true),
	}
	if p.retry.Max < p.retry.Base {
		g.Fail("max", "less than base")
	}
	g.End()
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

func (p *Provider) readErrors(g *fields.Group) {
	e := &p.errors
	for _, r := range g.Groups("rules") {
		class := r.OneOf("class", "", classes...)
		if class == "" {
			r.Fail("class", "want one of %s", strings.Join(classes, ", "))
		}
		when, err := expr.ParseCondition(r.Get("when"))
		if err != nil || !r.Has("when") {
			r.Fail("when", "want a condition: %v", err)
		}
		e.rules = append(e.rules, rule{class, when})
		r.End()
	}
	e.code = or(texts(g, "code"), "error.code", "error.type")
	e.message = or(texts(g, "message"), "error.message", "error", "message")
	e.requestID = or(texts(g, "request_id"), "request-id", "x-request-id")
	e.again = g.Text("again")
	for _, a := range g.Groups("after") {
		e.after = append(e.after, after{a.Text("header"), a.Text("path"), a.OneOf("form", "seconds", afterForms...), a.Text("exhausted")})
		if a.Has("header") == a.Has("path") {
			a.Fail("header", "want either a header or a path")
		}
		a.End()
	}
	if !g.Has("after") {
		e.after = []after{{header: "retry-after", form: "seconds"}}
	}
	g.End()
}

func or(have []string, otherwise ...string) []string {
	if len(have) > 0 {
		return have
	}
	return otherwise
}
