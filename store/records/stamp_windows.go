package records

import (
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

func stamp(dir string, st fs.FileInfo) Stamp {
	var s Stamp
	if d, ok := st.Sys().(*syscall.Win32FileAttributeData); ok {
		s.Born = d.CreationTime.Nanoseconds()
	}
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return s
	}
	h, err := windows.CreateFile(name, 0, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return s
	}
	defer windows.CloseHandle(h)
	var info windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(h, &info) == nil {
		s.Inode = uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)
	}
	return s
}

// spelling returns a path unchanged: filepath.EvalSymlinks already has the file system's
// spelling.
func spelling(path string) string { return path }

func machine() string {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer k.Close()
	id, _, err := k.GetStringValue("MachineGuid")
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.ReplaceAll(id, "-", ""))
}
