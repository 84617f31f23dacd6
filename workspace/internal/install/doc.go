// Package install brings registry items and packages into a project: it chooses versions,
// shows what comes with them, and pins what was agreed to.
package install
