"""Facts about the machine that a tool runs on, as JSON.

Only what a program needs to decide how to work: no host name, no user name, no
addresses, no environment variables.
"""
__version__ = "1.0.0"
__examples__ = [
    "what hardware is this",
    "which operating system runs here",
    "how much disk is left",
]
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__category__ = "rye/core/system"
__tool_description__ = "Facts about this machine: system, processor, memory, disk, Python, time"

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "sections": {
            "type": "array",
            "items": {"enum": ["system", "cpu", "memory", "disk", "python", "time"]},
            "uniqueItems": True,
            "description": "What to report; everything when left out",
        },
    },
    "additionalProperties": False,
}

__needs__ = {"read": [], "write": [], "net": []}

import argparse
import datetime
import json
import os
import platform
import shutil
import sys
import time


def system(_):
    return {
        "os": platform.system().lower(),
        "release": platform.release(),
        "machine": platform.machine(),
        "byte_order": sys.byteorder,
    }


def cpu(_):
    usable = os.cpu_count()
    if hasattr(os, "sched_getaffinity"):  # Linux: what this process may use
        usable = len(os.sched_getaffinity(0))
    return {"count": os.cpu_count(), "usable": usable}


def memory(_):
    """Bytes, or null where the system does not tell without extra modules."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = page * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return {"total": None, "available": None}
    try:
        available = page * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError):  # macOS
        available = None
    return {"total": total, "available": available}


def disk(project):
    """Bytes of the file system that holds the project."""
    try:
        usage = shutil.disk_usage(project)
    except OSError:
        return {"total": None, "free": None}
    return {"total": usage.total, "free": usage.free}


def python(_):
    return {"version": platform.python_version(), "implementation": platform.python_implementation()}


def clock(_):
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "utc": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "zone_offset_seconds": time.localtime().tm_gmtoff,
    }


SECTIONS = {"system": system, "cpu": cpu, "memory": memory, "disk": disk, "python": python, "time": clock}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--params", default="{}")
    parser.add_argument("--project-path", default=".")
    args = parser.parse_args()
    wanted = json.loads(args.params).get("sections") or list(SECTIONS)
    print(json.dumps({name: SECTIONS[name](args.project_path) for name in wanted}))
