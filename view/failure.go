package view

import (
	"context"
	"errors"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// failure is the form of every refusal.
type failure struct {
	Item       string     `json:"item,omitempty"` // one of several
	Status     string     `json:"status"`         // error
	Code       fault.Code `json:"code"`
	Message    string     `json:"message"`
	Approval   string     `json:"approval,omitempty"` // how a question to a person ended
	Parameters string     `json:"parameters,omitempty"`
	Issues     []string   `json:"issues,omitempty"`
	Paste      string     `json:"paste,omitempty"` // metadata to begin with
	Hint       any        `json:"hint,omitempty"`
}

// maxMessage bounds the message of a refusal, in bytes. The message may quote the request.
const maxMessage = 4000

// Failure returns a refusal: its code, the reason, and a remedy, as a call where possible.
func Failure(err error, prefix string) Answer {
	f := failure{Status: "error", Code: fault.CodeOf(err), Message: words.Clip(strings.ToValidUTF8(err.Error(), "\ufffd"), maxMessage),
		Hint: Hint(fault.HintOf(err), prefix), Approval: approval(err)}
	if errors.Is(err, context.Canceled) {
		f.Message = "cancelled"
	}
	switch f.Approval {
	case string(rye.Declined):
		f.Hint = nil // asking again is no remedy
	case string(rye.Late), string(rye.NoWay):
		f.Hint = forPerson(fault.HintOf(err))
	}
	var p *rye.ParamError
	if errors.As(err, &p) {
		if f.Parameters = Params(p.Params, true); f.Parameters != "" {
			f.Hint = nil // the remedy is a call with these
		}
	}
	return Answer{Head: f, Failed: true}
}

// Told is Failure as lines of text: the code and the reason, then the remedy.
func Told(err error, prefix string) string {
	f := Failure(err, prefix).Head.(failure)
	text := string(f.Code) + ": " + f.Message
	if f.Parameters != "" {
		text += "\nparameters: " + f.Parameters
	}
	switch h := f.Hint.(type) {
	case Call:
		text += "\nhint: " + JSON(h)
	case string:
		text += "\nhint: " + h
	}
	return text
}

// approval returns how a question to a person ended without a yes; "" if there was none.
func approval(err error) string {
	var open *rye.Unanswered
	var no *rye.Unagreed
	switch {
	case errors.As(err, &open):
		return "waiting"
	case errors.As(err, &no):
		return string(no.How)
	}
	return ""
}
