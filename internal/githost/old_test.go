package githost

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/store"
)

// FuzzOldRequests: an answer to any request of versions 0 and 1 ends, in packets.
func FuzzOldRequests(f *testing.F) {
	root := f.TempDir()
	repo, err := store.Init(filepath.Join(root, "x.git"), "refs/heads/main")
	if err != nil {
		f.Fatal(err)
	}
	defer repo.Close()
	blob, err := repo.Put(context.Background(), store.TypeBlob, []byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	want := "want " + blob.String()
	f.Add(packet(want+" multi_ack_detailed side-band-64k") + flush + packet("have "+blob.String()) + packet("done"))
	f.Add(packet(want+" side-band-64k") + packet("deepen 1") + flush)
	f.Add(packet(want) + packet("filter tree:0") + packet("deepen 0") + flush + packet("have "+blob.String()) + flush)
	f.Add(flush + delim + "0003")
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest("POST", "/x.git/"+uploadPack, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-git-upload-pack-request")
		w := httptest.NewRecorder()
		(&Server{Root: root, MaxRequest: 1 << 20}).ServeHTTP(w, r)
		for rest := w.Body; rest.Len() > 0; {
			if _, _, err := readPacket(rest); err != nil {
				t.Fatalf("%q is answered by %q: %v", body, w.Body, err)
			}
		}
	})
}
