package objects_test

import (
	"testing"

	"github.com/rye-os/rye/objects"
)

// A block that is shown to be pasted is one that is read.
func TestCommentBlock(t *testing.T) {
	const text = "version: 1.0.0\nexecutor_id: rye/core/runtimes/bash_runtime\ndescription: X.\nneeds:\n  net: []\n"
	for _, ext := range []string{".sh", ".js", ".lua", ".html", ".rb", ".go"} {
		block, ok := objects.CommentBlock("tools/a/x"+ext, text)
		if !ok {
			t.Errorf("%s: no comments", ext)
			continue
		}
		it, err := objects.Parse("tools/a/x"+ext, []byte("#!/bin/sh\n"+block+"\nrest\n"))
		if err != nil || it.Meta.Version != "1.0.0" || !it.Meta.Needs.Declared || len(it.Validate()) > 0 {
			t.Errorf("%s: %v, %+v from\n%s", ext, err, it, block)
		}
	}
	if _, ok := objects.CommentBlock("tools/a/x.json", text); ok {
		t.Error("JSON has comments")
	}
}
