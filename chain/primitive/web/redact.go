package web

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
)

// least is the shortest secret, in bytes, that is removed from answers. A shorter one would match
// everywhere.
const least = 4

// redactor removes secrets from answers, because an answer may repeat its request.
type redactor struct{ pairs [][2]string }

func (r *redactor) add(name, value string) {
	if len(value) < least {
		return
	}
	for _, form := range []string{value, JSON.write(value), url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), strings.TrimSpace(value)} {
		if len(form) >= least {
			r.pairs = append(r.pairs, [2]string{form, "[secret " + name + "]"})
		}
	}
}

// sort puts longer forms first, because one may contain another.
func (r *redactor) sort() {
	sort.SliceStable(r.pairs, func(i, j int) bool { return len(r.pairs[i][0]) > len(r.pairs[j][0]) })
}

func (r *redactor) text(s string) string {
	for _, p := range r.pairs {
		s = strings.ReplaceAll(s, p[0], p[1])
	}
	return s
}

func (r *redactor) event(ev *Event) {
	ev.Type, ev.Data, ev.ID = r.text(ev.Type), r.text(ev.Data), r.text(ev.ID)
}

func (r *redactor) response(res *Response) {
	for _, p := range r.pairs {
		res.Body = bytes.ReplaceAll(res.Body, []byte(p[0]), []byte(p[1]))
	}
	for k, v := range res.Header {
		res.Header[k] = r.text(v)
	}
	res.URL = r.text(res.URL)
}

// err keeps the code and the hint. It drops the wrapped error if the text has a secret.
func (r *redactor) err(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	if clean := r.text(said); clean != said {
		return fault.New(fault.CodeOf(err), "%s", clean).With(fault.Decode(r.text(fault.HintOf(err).Encode())))
	}
	return err
}
