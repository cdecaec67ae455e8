"""NVIDIA's driver as Python asks it, without one: two boards, the second cut in two."""

# The source of the module ``pynvml``, for processes of their own.
FAKE = """
BOARDS = {"GPU-aaaa": "NVIDIA H200", "GPU-bbbb": "NVIDIA A100-SXM4-40GB"}
SLICES = {"GPU-bbbb": ["MIG-1111", "MIG-2222"]}
class NVMLError(Exception): pass
def nvmlInit(): pass
def nvmlDeviceGetCount(): return len(BOARDS)
def nvmlDeviceGetHandleByIndex(index): return list(BOARDS)[index]
def nvmlDeviceGetUUID(handle): return handle
def nvmlDeviceGetName(handle): return BOARDS.get(handle, "NVIDIA A100-SXM4-40GB MIG 3g.20gb")
def nvmlDeviceGetMigMode(handle):
    if handle not in SLICES: raise NVMLError("not supported")
    return 1, 1
def nvmlDeviceGetMaxMigDeviceCount(handle): return 7
def nvmlDeviceGetMigDeviceHandleByIndex(handle, index):
    if index >= len(SLICES[handle]): raise NVMLError("not found")
    return SLICES[handle][index]
def nvmlDeviceGetHandleByUUID(uuid): return uuid
"""
