package cli

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
)

// testOnlyHints is the file to which every shown hint is appended, one line of JSON each. The
// linker sets it only in programs that tests build:
// -X github.com/rye-os/rye/internal/cli.testOnlyHints=...
var testOnlyHints string

// shownHint is one such line.
type shownHint struct {
	Hint    string   `json:"hint"`
	Words   []string `json:"words"` // of a command; null for advice
	Refused string   `json:"refused,omitempty"`
	Args    []string `json:"args"` // of the program that showed it
	Dir     string   `json:"dir"`  // in which it ran
	PID     int      `json:"pid"`
}

// showing notes the hints in a value before it is shown.
func showing(v any) {
	if testOnlyHints != "" {
		eachHint(reflect.ValueOf(v), note)
	}
}

// eachHint finds the hints in a value that JSON could show.
func eachHint(v reflect.Value, do func(fault.Hint)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			eachHint(v.Elem(), do)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			eachHint(v.Index(i), do)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			eachHint(v.MapIndex(k), do)
		}
	case reflect.Struct:
		if v.CanInterface() {
			if h, ok := v.Interface().(fault.Hint); ok {
				do(h)
				return
			}
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachHint(v.Field(i), do)
			}
		}
	}
}

func note(h fault.Hint) {
	if h.IsZero() {
		return
	}
	s := shownHint{Hint: h.String(), Words: h.Words(), Args: os.Args[1:], PID: os.Getpid()}
	s.Dir, _ = os.Getwd()
	if len(s.Words) > 0 && s.Words[0] == "rye" {
		if err := understand(s.Words[1:]); err != nil {
			s.Refused = err.Error()
		}
	}
	line, err := json.Marshal(s)
	if err != nil {
		return
	}
	f, err := os.OpenFile(testOnlyHints, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	f.Write(append(line, '\n')) // in one write, because other processes write too
}

// understand returns the error of a command line that would be refused before it does anything.
func understand(args []string) error {
	inv, err := arrange(commands(), globalFlags(&app.Flags{}), args)
	if err != nil || inv.help || len(inv.path) == 0 {
		return err
	}
	rest := inv.argv[slices.Index(inv.argv, "--")+1:]
	return inv.path[len(inv.path)-1].checkArgs(inv.path, rest)
}
