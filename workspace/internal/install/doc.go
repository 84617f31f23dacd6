// Package install brings registry items and bundles into a project: it chooses versions,
// shows what comes with them, and pins the agreed ones.
package install
