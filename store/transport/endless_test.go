package transport_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// A host that answers a push or a fetch slowly, without end, or with nothing but chatter is
// left in bounded time and after bounded bytes.
func TestSlowAndEndlessAnswers(t *testing.T) {
	push := pkts("# service=git-receive-pack\n", "0000", strings.Repeat("0", 40)+" capabilities^{}\x00report-status delete-refs atomic side-band-64k\n", "0000")
	forEver := func(w io.Writer, r *http.Request, text string, pause time.Duration) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
			if pause > 0 {
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(pause):
				}
			}
		}
	}
	chatter := pkts("\x02" + strings.Repeat("please wait ", 80) + "\n")
	from := newStore(t)
	one := commitTo(t, from, "refs/heads/main", "a", []byte("1"))
	for name, row := range map[string]struct {
		begin, text string
		pause       time.Duration
		want        fault.Code
		fetch       bool
	}{
		"push: chatter without end":    {"", chatter, 0, fault.Limit, false},
		"push: report without end":     {pkts("\x01" + pkts("unpack ok\n")), pkts("\x01" + pkts("ng refs/heads/y no\n")), 0, fault.Limit, false},
		"push: empty packets":          {"", pkts("\x02"), 0, fault.Limit, false},
		"push: a drop at a time":       {"", pkts("\x02."), 30 * time.Millisecond, fault.Network, false},
		"push: silence":                {pkts("\x02."), "", time.Hour, fault.Network, false},
		"fetch: chatter without end":   {pkts("packfile\n"), chatter, 0, fault.Limit, true},
		"fetch: sections without end":  {"", pkts("acknowledgments\n", "0001"), 0, fault.Network, true},
		"fetch: a drop at a time":      {pkts("packfile\n"), pkts("\x02."), 30 * time.Millisecond, fault.Network, true},
		"fetch: silence in the middle": {pkts("packfile\n", "\x01PACK"), "", time.Hour, fault.Network, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := &fake{next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				service := "git-receive-pack"
				if row.fetch {
					service = "git-upload-pack"
				}
				if r.Method == http.MethodGet {
					w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
					io.WriteString(w, map[bool]string{false: push, true: v2Advert}[row.fetch])
					return
				}
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/x-"+service+"-result")
				io.WriteString(w, row.begin)
				w.(http.Flusher).Flush()
				forEver(w, r, row.text, row.pause)
			})}
			// A row that must end by its size has all the time there is: on a busy machine
			// this host would stall as well.
			o := transport.Options{MaxAdvert: 256 << 10}
			if row.want == fault.Network {
				o.Stall, o.Timeout = 300*time.Millisecond, time.Second
			}
			r, err := transport.Dial(testkit.Serve(t, h)+"/x", o)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			began := time.Now()
			if row.fetch {
				_, _, err = r.Fetch(t.Context(), newStore(t), []store.OID{one}, nil, transport.FetchOptions{Limits: store.Limits{Bytes: 64 << 10}})
			} else {
				err = r.Push(t.Context(), from, []transport.Update{{Name: "refs/heads/x", New: one}})
			}
			if fault.CodeOf(err) != row.want || len(fmt.Sprint(err)) > 2000 || time.Since(began) > time.Minute {
				t.Errorf("after %v: %d bytes: %.300v (%s), want %s", time.Since(began), len(fmt.Sprint(err)), err, fault.CodeOf(err), row.want)
			}
		})
	}
}
