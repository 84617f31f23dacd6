package policy

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"github.com/rye-os/rye/objects"
)

// Listed returns the text of a user's policy file with client added to, or removed from, the MCP
// clients that show questions to a person. Everything else stays the same.
func Listed(raw []byte, client string, listed bool) ([]byte, error) {
	f, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if slices.Contains(clientsOf(f), client) == listed {
		return raw, nil
	}
	if f == nil {
		f, raw = &file{Policy: 1}, []byte("policy: 1\n")
	}
	if listed {
		f.Elicitation = append(f.Elicitation, client)
	} else {
		f.Elicitation = slices.DeleteFunc(f.Elicitation, func(name string) bool { return name == client })
	}
	if _, err := clientNames(f.Elicitation); err != nil {
		return nil, err
	}
	if len(f.Elicitation) == 0 {
		f.Elicitation = nil
	}
	text := splice(raw, "elicitation:", func(out *bytes.Buffer, after []byte) { writeClients(out, f.Elicitation, after) })
	if again, err := decode(text); err == nil && reflect.DeepEqual(again, f) {
		return text, nil
	}
	return objects.EncodeYAML(f)
}

func clientsOf(f *file) []string {
	if f == nil {
		return nil
	}
	return f.Elicitation
}

// writeClients writes the list in one line, with the comment from the line that it replaces.
func writeClients(out *bytes.Buffer, names []string, after []byte) {
	note := noteIn(after)
	if len(names) == 0 {
		if note != "" {
			out.WriteString(note[1:] + "\n")
		}
		return
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = "'" + strings.ReplaceAll(name, "'", "''") + "'"
	}
	out.WriteString("elicitation: [" + strings.Join(quoted, ", ") + "]" + note + "\n")
}
