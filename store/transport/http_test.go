package transport_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store/transport"
)

const anID = "1234567890123456789012345678901234567890"

func pkts(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		if l == "0000" || l == "0001" || l == "0002" {
			b.WriteString(l)
		} else {
			fmt.Fprintf(&b, "%04x%s", len(l)+4, l)
		}
	}
	return b.String()
}

var v2Advert = pkts("version 2\n", "agent=x\n", "ls-refs=unborn\n", "fetch=shallow filter\n", "object-format=sha1\n", "0000")

// fake answers like a git server in version 2, with fixed texts, and notes what
// it was sent.
type fake struct {
	advert, answer string
	check          func(r *http.Request) int // a status other than 200 to answer with
	next           http.Handler              // what answers in its place; nil: the fixed texts

	mu    sync.Mutex
	auth  []string // Authorization of each request, "" = none
	paths []string
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.auth = append(f.auth, r.Header.Get("Authorization"))
	f.paths = append(f.paths, r.Method+" "+r.URL.RequestURI())
	f.mu.Unlock()
	if f.check != nil {
		if code := f.check(r); code != http.StatusOK {
			w.Header().Set("WWW-Authenticate", "Basic realm=x")
			http.Error(w, "no\x1b[31m "+r.Header.Get("Authorization"), code)
			return
		}
	}
	if f.next != nil {
		f.next.ServeHTTP(w, r)
		return
	}
	service, advert := r.URL.Query().Get("service"), f.advert
	if r.Method == http.MethodPost {
		io.Copy(io.Discard, r.Body)
		i := strings.LastIndexByte(r.URL.Path, '/')
		w.Header().Set("Content-Type", "application/x-"+r.URL.Path[i+1:]+"-result")
		io.WriteString(w, f.answer)
		return
	}
	if advert == "" {
		advert = v2Advert
	}
	w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
	io.WriteString(w, advert)
}

func (f *fake) seen() ([]string, []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.auth...), append([]string(nil), f.paths...)
}

// oneRef is the answer of ls-refs with a single branch.
var oneRef = pkts(anID+" refs/heads/main\n", "0000")

const theToken = "sesame-9f3c1a7e55"

// wantToken answers 401 unless the password is theToken.
func wantToken(r *http.Request) int {
	if _, pw, _ := r.BasicAuth(); pw == theToken {
		return http.StatusOK
	}
	return http.StatusUnauthorized
}

func TestCredentials(t *testing.T) {
	f := &fake{answer: oneRef, check: wantToken}
	address := testkit.Serve(t, f)
	host := strings.TrimPrefix(address, "http://")
	dir := t.TempDir()
	netrc := filepath.Join(dir, "netrc")
	text := "default login x password wrong-default\nmachine other.example login a password wrong-other\nmacdef init\nmachine " + host + " password trap\n\nmachine " + host + "\n  login me\n  password " + theToken + "\n"
	if err := os.WriteFile(netrc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		o    transport.Options
		want fault.Code
	}{
		"token":                 {transport.Options{Token: tokenFor(host, theToken)}, ""},
		"netrc":                 {transport.Options{Netrc: netrc}, ""},
		"wrong token, netrc":    {transport.Options{Token: tokenFor(host, "wrong-token-1"), Netrc: netrc}, ""},
		"wrong token":           {transport.Options{Token: tokenFor(host, "wrong-token-1")}, fault.Auth},
		"token of another host": {transport.Options{Token: tokenFor("other.example", theToken)}, fault.Auth},
		"no netrc file":         {transport.Options{Netrc: filepath.Join(dir, "none")}, fault.Auth},
		"nothing":               {transport.Options{}, fault.Auth},
		"line end in a token":   {transport.Options{Token: tokenFor(host, "a\r\nX: y")}, fault.Auth},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := transport.Dial(address+"/x", row.o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Refs(ctxFor(t))
			if fault.CodeOf(err) != row.want {
				t.Fatalf("Refs: %v (%s), want %q", err, fault.CodeOf(err), row.want)
			}
			if err != nil && (strings.Contains(err.Error()+fault.HintOf(err).String(), "wrong") || strings.Contains(err.Error(), "\x1b")) {
				t.Errorf("error shows the secret or controls: %q", err)
			}
			if row.want == fault.Auth && !strings.Contains(fault.HintOf(err).String(), "RYE_TOKEN_127_0_0_1___") {
				t.Errorf("hint %q", fault.HintOf(err).String())
			}
		})
	}
}

func tokenFor(host, token string) func(string) string {
	return func(h string) string {
		if h == host {
			return token
		}
		return ""
	}
}

func TestTokenIsSentOnlyWhenAskedFor(t *testing.T) {
	f := &fake{answer: oneRef}
	address := testkit.Serve(t, f)
	r, err := transport.Dial(address+"/x", transport.Options{Token: func(string) string { return theToken }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Refs(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	auth, paths := f.seen()
	if strings.Join(auth, "") != "" || len(paths) != 2 {
		t.Errorf("sent %q for %q, want two requests without credentials", auth, paths)
	}
}

func TestGitCredentialHelper(t *testing.T) {
	g := newGit(t)
	f := &fake{answer: oneRef, check: wantToken}
	address := testkit.Serve(t, f)
	host := strings.TrimPrefix(address, "http://")
	log := filepath.Join(g.home, "log")
	helper := "!f() { echo \"$1\" >>'" + log + "'; env | grep ^GIT_ >>'" + log + "'; test \"$1\" = get && echo username=me && echo password=" + theToken + "; cat >>'" + log + "'; }; f"
	g.run("config", "--global", "credential.helper", helper)
	path, _ := g.cmd().Path, 0
	r, err := transport.Dial(address+"/x", transport.Options{Git: path, Env: append(g.env, "GIT_SSH_COMMAND=evil", "GIT_CONFIG_COUNT=0")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Refs(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(log)
	for _, want := range []string{"get\n", "store\n", "protocol=http\nhost=" + host + "\n", "GIT_TERMINAL_PROMPT=0"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("helper saw %q, want %q in it", got, want)
		}
	}
	if strings.Contains(string(got), "evil") {
		t.Errorf("GIT_* of the environment reached the helper: %q", got)
	}
	// A refused credential is reported to the helper, and nobody is prompted.
	f.check = func(*http.Request) int { return http.StatusUnauthorized }
	r, _ = transport.Dial(address+"/x", transport.Options{Git: path, Env: g.env})
	if _, err := r.Refs(ctxFor(t)); !fault.Is(err, fault.Auth) || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), theToken) {
		t.Errorf("refused: %v", err)
	}
	if got, _ = os.ReadFile(log); !strings.Contains(string(got), "erase\n") {
		t.Errorf("helper was not told: %q", got)
	}
}

// A redirect to another host is followed, but no credential goes there, not
// even when that host asks.
func TestRedirectToAnotherHost(t *testing.T) {
	for _, ask := range []bool{false, true} {
		there := &fake{answer: oneRef}
		if ask {
			there.check = wantToken
		}
		to := testkit.Serve(t, there)
		here := &fake{check: wantToken}
		var from string
		from = testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if wantToken(r) != http.StatusOK {
				here.ServeHTTP(w, r)
				return
			}
			http.Redirect(w, r, to+r.URL.RequestURI(), http.StatusMovedPermanently)
		}))
		netrc := filepath.Join(t.TempDir(), "netrc")
		os.WriteFile(netrc, fmt.Appendf(nil, "machine 127.0.0.1 login x password %s\n", theToken), 0o600)
		r, err := transport.Dial(from+"/x", transport.Options{Token: func(string) string { return theToken }, Netrc: netrc})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Refs(ctxFor(t))
		if ask != fault.Is(err, fault.Auth) {
			t.Errorf("ask=%v: %v", ask, err)
		}
		auth, paths := there.seen()
		if len(paths) == 0 || strings.Join(auth, "") != "" {
			t.Errorf("ask=%v: the other host got %q for %q", ask, auth, paths)
		}
	}
}

func TestRedirects(t *testing.T) {
	f := &fake{answer: oneRef, check: wantToken}
	mux := http.NewServeMux()
	mux.Handle("/x/", f)
	redirect := func(from string, to func(r *http.Request) string) {
		mux.HandleFunc(from, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to(r), http.StatusFound)
		})
	}
	redirect("/moved/", func(r *http.Request) string { return strings.Replace(r.URL.RequestURI(), "/moved/", "/x/", 1) })
	redirect("/loop/", func(r *http.Request) string { return r.URL.RequestURI() })
	redirect("/page/", func(*http.Request) string { return "/welcome" })
	redirect("/ftp/", func(*http.Request) string { return "ftp://127.0.0.1/x/info/refs?service=git-upload-pack" })
	redirect("/file/", func(*http.Request) string { return "file:///etc/info/refs?service=git-upload-pack" })
	redirect("/user/", func(r *http.Request) string { return "http://a:b@" + r.Host + "/x/info/refs?service=git-upload-pack" })
	redirect("/plain/", func(*http.Request) string { return "http://example.org/x/info/refs?service=git-upload-pack" })
	address := testkit.Serve(t, mux)
	for path, want := range map[string]fault.Code{
		"/x": "", "/moved": "", "/loop": fault.Network, "/page": fault.Network, "/ftp": fault.Network,
		"/file": fault.Network, "/user": fault.Network, "/plain": fault.Network, "/none": fault.NotFound,
	} {
		r, err := transport.Dial(address+path, transport.Options{Token: func(string) string { return theToken }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Refs(ctxFor(t)); fault.CodeOf(err) != want {
			t.Errorf("%s: %v (%s), want %q", path, err, fault.CodeOf(err), want)
		}
	}
	auth, paths := f.seen() // after the redirect on the same host the credential goes along
	if last := len(auth) - 1; last < 0 || auth[last] == "" {
		t.Errorf("requests %q with %q", paths, auth)
	}
}

func TestHTTPSDoesNotFallToHTTP(t *testing.T) {
	plain := &fake{answer: oneRef}
	to := testkit.Serve(t, plain)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to+r.URL.RequestURI(), http.StatusFound)
	}))
	t.Cleanup(s.Close)
	pool := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	r, err := transport.Dial(s.URL+"/x", transport.Options{TLS: &tls.Config{RootCAs: pool}, Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Refs(ctxFor(t)); !fault.Is(err, fault.Network) || !strings.Contains(err.Error(), "plain http") {
		t.Errorf("redirect to http: %v", err)
	}
	if _, paths := plain.seen(); len(paths) != 0 {
		t.Errorf("asked %q over plain http", paths)
	}
	if r, _ = transport.Dial(s.URL+"/x", transport.Options{}); r != nil {
		if _, err := r.Refs(ctxFor(t)); !fault.Is(err, fault.Network) {
			t.Errorf("unknown authority: %v", err)
		}
	}
}

// What servers say about their refs is refused or ignored when it is not sound.
func TestLyingAdvertisements(t *testing.T) {
	v0 := func(lines ...string) string {
		return pkts(append([]string{"# service=git-upload-pack\n", "0000"}, lines...)...)
	}
	many := strings.Repeat(pkts(anID+" refs/heads/x\n"), 100_000)
	for name, row := range map[string]struct {
		advert, answer string
		want           fault.Code
		refs           int
	}{
		"sound":                   {"", oneRef, "", 1},
		"odd names are ignored":   {"", pkts(anID+" refs/heads/../../config\n", anID+" refs/heads/x.lock\n", anID+" config\n", anID+" refs/heads/\x1b\n", anID+" refs/heads/ok\n", "0000"), "", 1},
		"not asked for":           {"", pkts(anID+" refs/other/x\n", "0000"), "", 0},
		"two values":              {"", pkts(anID+" refs/heads/x\n", strings.Repeat("2", 40)+" refs/heads/x\n", "0000"), fault.Network, 0},
		"short id":                {"", pkts("1234 refs/heads/x\n", "0000"), fault.Network, 0},
		"upper-case id":           {"", pkts(strings.Repeat("A", 40)+" refs/heads/x\n", "0000"), fault.Network, 0},
		"no name":                 {"", pkts(anID, "0000"), fault.Network, 0},
		"cut short":               {"", pkts(anID + " refs/heads/x\n"), fault.Network, 0},
		"empty answer":            {"", "", fault.Network, 0},
		"length lies":             {"", "ffff" + anID, fault.Network, 0},
		"html":                    {"<html>", oneRef, fault.Network, 0},
		"unknown format":          {pkts("version 2\n", "object-format=md5\n", "0000"), oneRef, fault.Usage, 0},
		"version 3":               {pkts("version 3\n", "0000"), oneRef, fault.Network, 0},
		"error line":              {pkts("ERR access denied or repository not exported\n"), "", fault.NotFound, 0},
		"v0":                      {v0(anID+" refs/heads/x\x00side-band-64k\n", anID+" refs/heads/y\n", "0000"), "", "", 2},
		"v0, empty repository":    {v0(strings.Repeat("0", 40)+" capabilities^{}\x00side-band-64k\n", "0000"), "", "", 0},
		"v0 without service":      {pkts(anID+" refs/heads/x\x00side-band-64k\n", "0000"), "", "", 1},
		"v0 without flush":        {v0(anID + " refs/heads/x\x00side-band-64k\n"), "", fault.Network, 0},
		"v0, no capabilities":     {v0(anID+" refs/heads/x\n", "0000"), "", fault.Network, 0},
		"v0, other service":       {pkts("# service=git-receive-pack\n", "0000", anID+" refs/heads/x\x00\n", "0000"), "", fault.Network, 0},
		"v0, two values":          {v0(anID+" refs/heads/x\x00a\n", strings.Repeat("2", 40)+" refs/heads/x\n", "0000"), "", fault.Network, 0},
		"more than MaxAdvert":     {"", many, fault.Limit, 0},
		"v0, more than MaxAdvert": {v0(anID + " refs/heads/x\x00a\n")[:0] + pkts(anID+" refs/heads/x\x00a\n") + many, "", fault.Limit, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := transport.Dial(testkit.Serve(t, &fake{advert: row.advert, answer: row.answer})+"/x", transport.Options{MaxAdvert: 1 << 20, Tries: 2})
			if err != nil {
				t.Fatal(err)
			}
			refs, err := r.Refs(ctxFor(t), "refs/heads/")
			if fault.CodeOf(err) != row.want || len(refs) != row.refs {
				t.Errorf("Refs = %v, %v (%s); want %d refs, %q", refs, err, fault.CodeOf(err), row.refs, row.want)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\x00") {
				t.Errorf("controls in %q", err)
			}
		})
	}
}

// Servers that say nothing, drip or never end are left after a while.
func TestSlowAndEndlessServers(t *testing.T) {
	block := func(after string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			io.WriteString(w, after)
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(20 * time.Second):
			}
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		io.WriteString(w, pkts(anID+" HEAD\x00x\n"))
		for i := 0; r.Context().Err() == nil; i++ {
			if _, err := io.WriteString(w, pkts(fmt.Sprintf("%s refs/heads/b%d\n", anID, i))); err != nil {
				return
			}
		}
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		text := strings.Repeat(pkts(anID+" HEAD\x00x\n"), 100)
		for i := 0; i < len(text) && r.Context().Err() == nil; i++ {
			io.WriteString(w, text[i:i+1])
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(30 * time.Millisecond):
			}
		}
	}
	silent := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
		}
	}
	for name, row := range map[string]struct {
		h    http.HandlerFunc
		want fault.Code
		text string
	}{
		"silent":  {silent, fault.Network, "no data"},
		"stalled": {block(pkts("version 2\n")), fault.Network, "no data"},
		"endless": {endless, fault.Limit, "more than"},
		"drip":    {drip, fault.Network, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := transport.Dial(testkit.Serve(t, row.h)+"/x", transport.Options{Stall: 200 * time.Millisecond, Timeout: 2 * time.Second, MaxAdvert: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = r.Refs(context.Background())
			if fault.CodeOf(err) != row.want || !strings.Contains(err.Error(), row.text) || time.Since(began) > 10*time.Second {
				t.Errorf("after %v: %v (%s)", time.Since(began), err, fault.CodeOf(err))
			}
		})
	}
	r, _ := transport.Dial(testkit.Serve(t, http.HandlerFunc(silent))+"/x", transport.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := r.Refs(ctx); !fault.Is(err, fault.Interrupt) {
		t.Errorf("cancelled: %v (%s)", err, fault.CodeOf(err))
	}
}

// A server that repeats the token in its answers does not get it printed.
func TestTokenIsNeverPrinted(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + theToken))
	for name, f := range map[string]*fake{
		"error line": {advert: pkts("ERR you sent " + theToken + " as " + basic + "\n"), check: wantToken},
		"status":     {check: func(r *http.Request) int { return max(wantToken(r), http.StatusForbidden) }},
		"ref id":     {answer: pkts(theToken+" refs/heads/x\n", "0000"), check: wantToken},
	} {
		r, err := transport.Dial(testkit.Serve(t, f)+"/x", transport.Options{Token: func(string) string { return theToken }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Refs(ctxFor(t))
		for e := err; e != nil; {
			if s := fmt.Sprintf("%v %+v %#v", e, e, e); strings.Contains(s, theToken) || strings.Contains(s, basic) {
				t.Errorf("%s: token in %s", name, s)
			}
			u, ok := e.(interface{ Unwrap() error })
			if !ok {
				break
			}
			e = u.Unwrap()
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if s := fmt.Sprintf("%v %+v", r, r); strings.Contains(s, theToken) {
			t.Errorf("%s: token in the remote: %s", name, s)
		}
	}
}
