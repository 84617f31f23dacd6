package chain

import "testing"

// The library's tools for files take RYE OS's file_path.
func TestLibraryTakesFilePath(t *testing.T) {
	w := newWorld(t)
	for id, raw := range map[string]string{
		"rye/file-system/read":       `{"file_path":"a"}`,
		"rye/file-system/write":      `{"file_path":"a","content":"x"}`,
		"rye/file-system/edit_lines": `{"file_path":"a","changes":[{"line_id":"x","new_content":"y"}]}`,
	} {
		if got, err := w.plan(id).Check([]byte(raw)); err != nil || got.Values["path"] != "a" {
			t.Errorf("%s %s: %s, %v", id, raw, got.JSON, err)
		}
	}
}
