package app

import "path/filepath"

// Pushed returns the repository that git runs a hook in, and where it keeps what was pushed
// until the hook agreed; both are "" outside of a hook.
func (a *App) Pushed() (repo, objects string) {
	if repo = a.getenv("GIT_DIR"); repo == "" {
		return "", ""
	}
	if objects = a.getenv("GIT_OBJECT_DIRECTORY"); objects == "" {
		objects = filepath.Join(repo, "objects")
	}
	return a.Path(repo), a.Path(objects)
}
