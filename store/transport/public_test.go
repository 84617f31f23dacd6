package transport_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store/transport"
)

// TestPublic: an address that no person named reaches nothing of this machine, its network or its
// cloud, by its name or after it was resolved.
func TestPublic(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:1/x", "https://localhost/x", "https://10.1.2.3/x", "https://[::1]/x", "https://[fd00:ec2::254]/x", "https://169.254.169.254/x",
		"https://metadata.google.internal/x", "git://192.168.1.1/x", "ssh://git@intranet/x", "git@printer.local:x", "https://2130706433/x", "/srv/x.git", "file:///srv/x.git"} {
		if r, err := transport.Dial(address, transport.Options{Public: true, Insecure: true}); !fault.Is(err, fault.Denied) {
			t.Errorf("Dial(%q) = %v, %v; want a refusal", address, r, err)
		}
	}
	if _, err := transport.Dial("https://git.example.org/x", transport.Options{Public: true}); err != nil {
		t.Errorf("a public host: %v", err)
	}
}

// TestRedirectInward: a host that looks public and redirects inward is not followed. A proxy stands
// for the name server that a test has not.
func TestRedirectInward(t *testing.T) {
	var reached atomic.Bool
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer inside.Close()
	for _, to := range []string{inside.URL, "http://10.0.0.1", "http://169.254.169.254", "http://intranet", "http://[::ffff:127.0.0.1]:1"} {
		outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to+"/x/info/refs?"+r.URL.RawQuery, http.StatusFound)
		}))
		proxy, err := url.Parse(outside.URL)
		if err != nil {
			t.Fatal(err)
		}
		r, err := transport.Dial("http://git.example.org/x", transport.Options{Insecure: true, Proxy: http.ProxyURL(proxy)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Refs(t.Context(), "HEAD")
		if err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("a redirect to %s: %v", to, err)
		}
		r.Close()
		outside.Close()
	}
	if reached.Load() {
		t.Error("the inner host was reached")
	}
}
