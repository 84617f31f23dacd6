// Package install brings registry items and bundles into a project: it chooses versions,
// shows everything that comes along, and pins the agreed versions.
package install
