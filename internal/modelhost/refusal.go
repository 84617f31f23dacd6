package modelhost

import (
	"fmt"
	"net/http"

	"github.com/rye-os/rye/agent/provider/script"
)

// A refusal is an error answer for either service.
type refusal struct {
	status  int
	kind    string // the member type; "" derives it from the status
	code    string // OpenAI
	param   string // OpenAI
	message string
	request string // Anthropic: the id that the body repeats
}

// refused is the refusal for a failure of a script.
func refused(f *script.Failure, code string) *refusal {
	return &refusal{status: f.Status, kind: f.Type, code: code, message: f.Message}
}

func invalidRequest(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// openAIKinds name errors by their status (platform.openai.com/docs/guides/error-codes).
var openAIKinds = map[int][2]string{
	401: {"invalid_request_error", "invalid_api_key"}, 403: {"invalid_request_error", ""}, 404: {"invalid_request_error", ""},
	429: {"requests", "rate_limit_exceeded"}, 500: {"server_error", ""}, 503: {"server_error", "service_unavailable"},
}

// anthropic and openAI return the body of the error.
func (r *refusal) anthropic() any {
	kind := (&script.Failure{Status: r.status, Type: r.kind}).Kind()
	type inner struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	return struct {
		Type  string `json:"type"`
		Error inner  `json:"error"`
		ID    string `json:"request_id,omitempty"`
	}{"error", inner{kind, r.message}, r.request}
}

func (r *refusal) openAI() any {
	known := openAIKinds[r.status]
	kind, code := r.kind, r.code
	if kind == "" {
		kind = known[0]
	}
	if kind == "" && r.status < 500 {
		kind = "invalid_request_error"
	} else if kind == "" {
		kind = "server_error"
	}
	if code == "" {
		code = known[1]
	}
	type inner struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	return struct {
		Error inner `json:"error"`
	}{inner{r.message, kind, orNull(r.param), orNull(code)}}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
