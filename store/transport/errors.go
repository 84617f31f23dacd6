package transport

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
)

// textMax is the largest number of bytes shown of a text from outside.
const textMax = 300

// cleanText makes a text from a remote safe to show: no control, format or invalid characters,
// which a terminal would obey, and at most textMax bytes.
func cleanText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() > textMax {
			b.WriteString("…")
			break
		}
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// remoteError is the error for a refusal, with the remote's own text.
func remoteError(text string) error {
	text = cleanText(text)
	low := strings.ToLower(text)
	switch {
	case hasAny(low, "not our ref", "not exported", "not found", "no such", "does not exist", "does not appear to be"):
		return fault.New(fault.NotFound, "remote: %s", text)
	case hasAny(low, "denied", "authenticat", "authoriz", "permission", "forbidden"):
		return fault.New(fault.Auth, "remote: %s", text)
	}
	return fault.New(fault.Network, "remote: %s", text)
}

func hasAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

var errStalled = errors.New("no data for too long")

// wrap adds the operation and the address to err, and a code if it has none. It removes the
// remote's secrets from the text.
func (r *Remote) wrap(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && fault.CodeOf(err) != fault.Integrity {
		switch {
		case errors.Is(cause, errStalled):
			return fault.New(fault.Network, "%s %s: no data for %v", op, r, r.o.Stall).
				Advise("try again; the remote or the network stopped answering")
		case errors.Is(cause, context.DeadlineExceeded):
			return fault.New(fault.Network, "%s %s: not done in time: %w", op, r, cause).
				Advise("try again, or allow more time")
		case errors.Is(cause, context.Canceled):
			return fault.New(fault.Interrupt, "%s %s: %w", op, r, cause)
		}
	}
	var rej *RejectedError
	if errors.As(err, &rej) {
		return fault.New(rej.code, "%w", err).With(rej.hint())
	}
	code, hint := fault.CodeOf(err), fault.HintOf(err)
	if code == fault.Failed || code == fault.Interrupt {
		code = fault.Network
	}
	if served := r.served.Load(); code == fault.Network && served != nil {
		// A repository of this machine that holds a malformed object is refused as over a network, where the
		// object itself comes.
		if c := fault.CodeOf(*served); c == fault.Malformed || c == fault.Limit {
			code = c
		}
	}
	if text := err.Error(); r.auth.redact(text) != text {
		err = errors.New(r.auth.redact(text)) // the chain would still hold the secret
	}
	return fault.New(code, "%s %s: %w", op, r, err).With(hint)
}
