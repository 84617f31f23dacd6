package provider

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/expr"
)

// maxFailure bounds the part of a failure's body that is read, in bytes.
const maxFailure = 256 << 10

// codeClasses are error codes of the two formats; they are more precise than a status.
var codeClasses = map[string]string{
	"rate_limit_error": RateLimited, "rate_limit_exceeded": RateLimited, "overloaded_error": Overloaded, "server_overloaded": Overloaded,
	"api_error": Transient, "server_error": Transient, "internal_server_error": Transient, "timeout_error": Timeout,
	"authentication_error": Auth, "permission_error": Auth, "invalid_api_key": Auth,
	"billing_error": Quota, "insufficient_quota": Quota, "billing_hard_limit_reached": Quota,
	"context_length_exceeded": ContextOverflow, "request_too_large": ContextOverflow, "string_above_max_length": ContextOverflow,
	"content_filter": ContentPolicy, "content_policy_violation": ContentPolicy,
	"invalid_request_error": Invalid, "not_found_error": Invalid, "model_not_found": Invalid,
}

// statusClass returns the class for a status when nothing else decides.
func statusClass(status int) string {
	switch status {
	case 401, 403:
		return Auth
	case 402:
		return Quota
	case 408, 504, 524:
		return Timeout
	case 409, 425:
		return Transient
	case 413:
		return ContextOverflow
	case 429:
		return RateLimited
	case 503, 529:
		return Overloaded
	}
	if status >= 500 || status < 300 {
		return Transient // inside a stream the status is 200
	}
	return Invalid
}

// failure builds an *Error from the provider's description of a failure. scrub removes secrets from
// texts.
func (p *Provider) failure(status int, h http.Header, raw []byte, body any, now time.Time, scrub func(string) string) *Error {
	e := &Error{Status: status, Code: scrub(p.say(body, p.errors.code)), Message: scrub(p.say(body, p.errors.message))}
	text := plain(scrub(string(raw))) // scrubbed before it is cut: scrub would miss a part of a secret
	if e.Message == "" {
		e.Message = text
	}
	e.Class = p.class(e, h, body, text)
	e.Code = words.Clip(words.Printable(e.Code), 100)
	e.Message = words.Clip(words.Printable(e.Message), 1000)
	e.After = p.errors.wait(h, body, now)
	if p.errors.again != "" {
		switch strings.ToLower(strings.TrimSpace(h.Get(p.errors.again))) {
		case "true":
			e.Again = true
		case "false":
			e.Never = true
		}
	}
	return e
}

func (p *Provider) class(e *Error, h http.Header, body any, text string) string {
	headers := make(map[string]any, len(h))
	for name := range h {
		headers[strings.ToLower(name)] = h.Get(name)
	}
	data := map[string]any{"status": e.Status, "code": e.Code, "message": e.Message, "headers": headers, "body": plainNumbers(body), "text": text}
	for _, r := range p.errors.rules {
		if r.when.Holds(expr.Of(data)) {
			return r.class
		}
	}
	if c, ok := codeClasses[e.Code]; ok && !(c == Invalid && e.Status >= 400 && e.Status != 400) {
		return c
	}
	status := e.Status
	if n, err := strconv.Atoi(e.Code); err == nil && n >= 400 && n < 600 && status < 300 {
		status = n // some gateways send the status inside a stream
	}
	return statusClass(status)
}

// say returns the first text or number at one of the paths.
func (p *Provider) say(body any, paths []string) string {
	for _, path := range paths {
		v, ok := expr.Get(body, path)
		if !ok {
			continue
		}
		switch v := v.(type) {
		case string:
			if v != "" {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}

// plainNumbers converts numbers to the form that conditions compare.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return n
	case map[string]any:
		for k, x := range v {
			v[k] = plainNumbers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = plainNumbers(x)
		}
	}
	return v
}

// plain returns the beginning of a body that is not JSON, on one line.
func plain(raw string) string {
	return words.Clip(strings.Join(strings.Fields(words.Clip(raw, 2000)), " "), 300)
}
