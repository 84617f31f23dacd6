package workspace_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// A question that is too long to be judged is never put to a person, whichever verb it
// comes from.
func TestLongQuestionsAreNotAsked(t *testing.T) {
	for name, text := range map[string]string{
		"lines":  strings.Repeat("echo again\n", rye.MaxQuestionLines+1),
		"bytes":  strings.Repeat("echo "+strings.Repeat("x", 500)+"\n", rye.MaxQuestionBytes/500+1),
		"a line": "echo " + strings.Repeat("x", rye.MaxLineBytes) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := project(t)
			p.write("tools/acme/greet.sh", greet+text)
			p.asks, p.looks = nil, true
			_, err := p.Sign(t.Context(), rye.Client(), rye.SignRequest{Targets: []rye.Target{"tool:acme/greet"}})
			wantCode(t, "sign for a model", err, fault.Limit)
			_, err = p.run("tool:acme/greet", nil)
			wantCode(t, "run what is unsigned", err, fault.Untrusted)
			for _, q := range p.asks {
				t.Errorf("asked %q: %v", q.Topic, q.Check())
			}
		})
	}
}
