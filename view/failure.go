package view

import (
	"context"
	"errors"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// failure is what every refusal looks like.
type failure struct {
	Item       string     `json:"item,omitempty"` // of several
	Status     string     `json:"status"`         // error
	Code       fault.Code `json:"code"`
	Message    string     `json:"message"`
	Approval   string     `json:"approval,omitempty"` // what became of a question to a person
	Parameters string     `json:"parameters,omitempty"`
	Issues     []string   `json:"issues,omitempty"`
	Paste      string     `json:"paste,omitempty"` // metadata to begin with
	Hint       any        `json:"hint,omitempty"`
}

// maxMessage bounds the message of a refusal, which may quote what was sent, in bytes.
const maxMessage = 4000

// Failure is a refusal: which class it is, why, and what mends it, as a call where one does.
func Failure(err error, prefix string) Answer {
	f := failure{Status: "error", Code: fault.CodeOf(err), Message: words.Clip(strings.ToValidUTF8(err.Error(), "\ufffd"), maxMessage),
		Hint: Hint(fault.HintOf(err), prefix), Approval: approval(err)}
	if errors.Is(err, context.Canceled) {
		f.Message = "cancelled"
	}
	switch f.Approval {
	case string(rye.Declined):
		f.Hint = nil // asking again is not what mends it
	case string(rye.Late), string(rye.NoWay):
		f.Hint = forPerson(fault.HintOf(err))
	}
	var p *rye.ParamError
	if errors.As(err, &p) {
		if f.Parameters = Params(p.Params, true); f.Parameters != "" {
			f.Hint = nil // a call with these
		}
	}
	return Answer{Head: f, Failed: true}
}

// Told is Failure as lines of text: the class and the reason, then what mends it.
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

// approval tells apart how a question to a person ended without a yes; "" where none was
// the matter.
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
