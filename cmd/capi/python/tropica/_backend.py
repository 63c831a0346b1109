"""Where calls run: in the library, or in a worker process of `fst serve`."""

import collections
import ctypes as c
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import weakref

import numpy as np

from . import _structs as s


class TropicaError(Exception):
    """The error of a call. `element` is the number of the example at fault, or -1."""

    element = -1


class InvalidError(TropicaError, ValueError):
    """Arguments or data are wrong; the text says which and where."""


class LimitError(TropicaError, MemoryError):
    """A loss machine would take more memory than allowed; the text says what helps."""


class CancelledError(TropicaError, RuntimeError):
    """The call was cancelled."""


_ERRORS = {s.INVALID: InvalidError, s.OVER_LIMIT: LimitError, s.CANCELLED: CancelledError}


def _raise(status, element, text):
    e = _ERRORS.get(status, TropicaError)(text)
    e.element = element
    raise e


class Array:
    """An array of a call: numpy, `out` if the call writes it, `owner` what a reader of results gets."""

    __slots__ = ("array", "out")

    def __init__(self, array, out=False):
        self.array = array
        self.out = out


class Library:
    """Calls of the shared library in this process."""

    name = "library"
    ended = False

    def __init__(self, path):
        self._lib = c.CDLL(path)
        self._calls = {}
        for name in s.CALLS:
            f = getattr(self._lib, "tropica_" + name)
            f.restype = c.c_int32
            f.argtypes = [c.c_void_p, c.c_void_p]
            self._calls[name] = f
        self._start, self._wait = self._lib.tropica_start, self._lib.tropica_wait
        self._start.argtypes = [c.c_uint32, c.c_void_p, c.c_int64, c.c_void_p, c.c_void_p]
        self._wait.argtypes = [c.c_uint64, c.c_int64, c.c_void_p]
        self._local = threading.local()
        self.pid = os.getpid()
        args = s.VersionArgs(size=c.sizeof(s.VersionArgs))
        self.call("version", args, {})
        if args.abi != s.ABI:
            raise TropicaError("the library %s has version %d of the interface, this package %d" % (path, args.abi, s.ABI))

    def _error(self):
        e = getattr(self._local, "error", None)
        if e is None:
            text = c.create_string_buffer(4096)
            e = s.Error(size=c.sizeof(s.Error), text=c.addressof(text), text_room=4096)
            self._local.text, self._local.error = text, e
            self._local.pointer = c.c_void_p(c.addressof(e))
        return e

    def call(self, name, args, arrays, stop=None):
        """Runs a call. arrays gives, by field, what its addresses point to. With stop, whose handle
        args has, Ctrl-C ends it."""
        args.size = c.sizeof(args)
        for field, a in arrays.items():
            address = a.array.ctypes.data if a.array.size else 0
            value = getattr(args, field)
            if isinstance(value, s.Tensor):
                value.data = address
            else:
                setattr(args, field, address)
        e = self._error()
        if stop is None:
            status = self._calls[name](c.addressof(args), self._local.pointer)
        else:
            status = self._waited(s.CALLS[name], c.addressof(args), stop)
        if status:
            text = c.string_at(e.text).decode("utf-8", "replace")
            _raise(status, e.element, text)

    def _waited(self, number, args, stop):
        """Runs a call in another thread of the library's, and comes back now and then for signals."""
        running = c.c_uint64()
        try:
            status = self._start(number, args, _PATIENCE, c.addressof(running), self._local.pointer)
            while status == s.RUNNING:
                status = self._wait(running.value, _PATIENCE, self._local.pointer)
            return status
        except BaseException:
            while running.value:  # what the call works on is not given up before it has ended
                try:
                    stop.cancel()
                    while self._wait(running.value, _PATIENCE, self._local.pointer) == s.RUNNING:
                        pass
                    break
                except BaseException:
                    pass
            raise

    def discard(self, handle):
        """Frees a handle, whatever this thread is doing: a collection may come between any two steps."""
        a = s.HandleArgs(size=c.sizeof(s.HandleArgs), handle=handle)
        self._calls["free"](c.addressof(a), None)

    def close(self):
        pass


class Worker:
    """Calls of a worker process, with arrays in memory that both share."""

    name = "worker"

    def __init__(self, program):
        self._program = program
        self._lock = threading.Lock()  # of the pipe's writing end and of ids
        self._memory_lock = threading.RLock()  # one call's arrays at a time
        self._answers = {}
        self._arrived = threading.Condition()
        self._id = 0
        self._memory = None
        self._size = 0
        self.ended = False
        self._discarded = collections.deque()  # handles to free with the next call
        self.pid = os.getpid()
        try:
            self._process = subprocess.Popen([program, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             bufsize=0, start_new_session=True)
        except OSError as e:
            raise TropicaError("the worker %s does not start: %s" % (program, e)) from e
        threading.Thread(target=self._read, daemon=True).start()
        self._finalizer = weakref.finalize(self, Worker._stop, self._process, os.getpid())
        args = s.VersionArgs()
        self.call("version", args, {})
        if args.abi != s.ABI:
            raise TropicaError("%s has version %d of the interface, this package %d" % (program, args.abi, s.ABI))

    @staticmethod
    def _stop(process, pid):
        if os.getpid() != pid:
            return
        try:
            process.stdin.close()
            process.wait(1)
        except Exception:
            process.kill()

    def _exactly(self, n):
        data = b""
        while len(data) < n:
            more = self._process.stdout.read(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def leave(self):
        """Closes a child's copies of the pipes after fork, so that the worker ends with the parent."""
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()

    def _read(self):
        try:
            while True:
                ident, status, element, text, args = struct.unpack("<IiqII", self._exactly(24))
                text, args = self._exactly(text), self._exactly(args)
                with self._arrived:
                    self._answers[ident] = (status, element, text, args)
                    self._arrived.notify_all()
        except (EOFError, OSError, ValueError):
            with self._arrived:
                self.ended = True
                self._arrived.notify_all()

    def _send(self, number, data):
        with self._lock:
            self._id = ident = (self._id + 1) & 0xFFFFFFFF
            message = struct.pack("<III", ident, number, len(data)) + data
            try:
                while message:
                    message = message[os.write(self._process.stdin.fileno(), message):]
                return ident
            except OSError as e:
                self.ended = True
                raise TropicaError("the worker process has ended: %s" % e) from e
            except BaseException:  # an interrupt: what the worker has of the message, nobody knows
                self.ended = True
                self._process.kill()
                raise

    def _wait(self, ident):
        with self._arrived:
            while ident not in self._answers:
                if self.ended:
                    raise TropicaError("the worker process has ended with status %s" % self._process.poll())
                self._arrived.wait(0.05)  # so that signals are seen
            return self._answers.pop(ident)

    def _room(self, size):
        if size <= self._size:
            return
        size = max(1 << 20, 1 << (size - 1).bit_length())
        fd, path = _shared_file(size)
        try:
            memory = mmap.mmap(fd, size)
            status, element, text, _ = self._wait(self._send(0, path.encode()))
        finally:
            os.close(fd)
            os.unlink(path)
        if status:
            _raise(status, element, text.decode("utf-8", "replace"))
        self._memory, self._size = memory, size

    def call(self, name, args, arrays, stop=None):
        """As Library.call."""
        args.size = c.sizeof(args)
        while self._discarded:
            a = s.HandleArgs(size=c.sizeof(s.HandleArgs), handle=self._discarded.popleft())
            self._answer("free", a, self._send(s.CALLS["free"], bytes(a)))
        if not arrays:
            return self._answer(name, args, self._send(s.CALLS[name], bytes(args)), stop)
        with self._memory_lock:
            places, at = {}, 0
            for field, a in arrays.items():
                places[field] = at
                at += (a.array.nbytes + 63) & ~63
            self._room(at)
            whole = np.frombuffer(self._memory, np.uint8)
            for field, a in arrays.items():
                n, place = a.array.nbytes, places[field]
                if n and not a.out:
                    whole[place:place + n] = np.frombuffer(np.ascontiguousarray(a.array), np.uint8)
                address = place + 4096 if n else 0
                value = getattr(args, field)
                if isinstance(value, s.Tensor):
                    value.data = address
                else:
                    setattr(args, field, address)
            try:
                self._answer(name, args, self._send(s.CALLS[name], bytes(args)), stop)
            finally:
                for field, a in arrays.items():
                    n, place = a.array.nbytes, places[field]
                    if n and a.out:
                        a.array.reshape(-1).view(np.uint8)[:] = whole[place:place + n]
                del whole

    def _answer(self, name, args, ident, stop=None):
        try:
            status, element, text, data = self._wait(ident)
        except BaseException:
            # An interrupted call goes on in the worker: end it, so that its arrays may be used again.
            if stop is not None:
                stop.used = True
                self._send(s.CALLS["cancel"], bytes(s.HandleArgs(size=c.sizeof(s.HandleArgs), handle=stop.handle)))
                try:
                    self._wait(ident)
                except TropicaError:
                    pass
            raise
        c.memmove(c.addressof(args), data, min(len(data), c.sizeof(args)))
        if status:
            _raise(status, element, text.decode("utf-8", "replace"))

    def discard(self, handle):
        """Frees a handle with the next call. A collection may come in the thread that reads answers,
        which cannot wait for one."""
        self._discarded.append(handle)

    def close(self):
        """Ends the process."""
        self.ended = True
        self._finalizer()


def _shared_file(size):
    """Makes a file of so many bytes that exist: a full /dev/shm, small in a container, would else
    end the process at the first byte that has no room."""
    folders = ["/dev/shm"] if os.path.isdir("/dev/shm") else []
    for folder in folders + [tempfile.gettempdir()]:
        fd, path = tempfile.mkstemp(prefix="tropica-", dir=folder)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(fd, 0, size)
            else:
                os.ftruncate(fd, size)
            return fd, path
        except OSError as e:
            failure = e
            os.close(fd)
            os.unlink(path)
        except BaseException:
            os.close(fd)
            os.unlink(path)
            raise
    raise TropicaError("no room for %d bytes that the worker shares: %s" % (size, failure)) from failure


_lock = threading.Lock()
_backend = None
_choice = os.environ.get("TROPICA_BACKEND", "auto")


def _library_path():
    given = os.environ.get("TROPICA_LIBRARY")
    if given:
        return given
    name = {"darwin": "libtropica.dylib", "win32": "tropica.dll"}.get(sys.platform, "libtropica.so")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    return path if os.path.exists(path) else None


def _worker_program():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fst")
    for path in (os.environ.get("TROPICA_FST"), beside if os.path.exists(beside) else None, shutil.which("fst")):
        if path:
            return path
    raise TropicaError("there is no worker: the program fst is neither in the package nor in PATH, nor named by TROPICA_FST")


_loaded_in = None  # the process that loaded the library


def use(choice: str) -> None:
    """Chooses where calls run: "library", "worker" or "auto", the library but where it cannot run."""
    global _choice, _backend
    if choice not in ("library", "worker", "auto"):
        raise ValueError("%r is none of library, worker, auto" % (choice,))
    with _lock:
        if _backend is not None:
            _backend.close()
        _choice, _backend = choice, None


def backend():
    """Returns where calls run now. A child of fork gets a worker of its own; a worker that has ended
    is followed by another."""
    global _backend, _loaded_in
    b = _backend
    if b is not None and b.pid == os.getpid() and not b.ended:
        return b
    with _lock:
        b = _backend
        if b is not None and b.pid == os.getpid() and not b.ended:
            return b
        forked = _loaded_in is not None and _loaded_in != os.getpid()
        if _choice == "worker" or forked and _choice == "auto":
            _backend = Worker(_worker_program())
        else:
            path = _library_path()
            try:
                if path is None:
                    raise OSError("the package has no library; build it, or name it by TROPICA_LIBRARY")
                _backend = Library(path)
                _loaded_in = os.getpid()
            except OSError as e:
                if _choice == "library":
                    raise TropicaError(str(e)) from e
                _backend = Worker(_worker_program())
        return _backend


def _after_fork():
    # Locks may be held by threads that the child has not.
    global _lock
    _lock = threading.Lock()
    if isinstance(_backend, Worker):
        _backend.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Held:
    """Something of the library's: what it is made from is kept, so that another process, or a
    worker, can make it again."""

    def __init__(self):
        self._handle = 0
        self._backend = None

    def _make(self, b):
        raise NotImplementedError

    def handle(self):
        """The handle in the backend of this process."""
        b = backend()
        if self._backend is not b:
            self._handle = self._make(b)
            self._backend = b
            weakref.finalize(self, _free, weakref.ref(b), self._handle, os.getpid())
        return self._handle

    def __getstate__(self):
        state = dict(self.__dict__)
        state["_handle"], state["_backend"] = 0, None
        return state


def _free(ref, handle, pid):
    b = ref()
    if b is None or os.getpid() != pid or b.pid != pid:
        return
    b.discard(handle)


class Stop:
    """A handle to cancel calls, of one thread and one backend."""

    def __init__(self, b):
        a = s.HandleArgs()
        b.call("cancel_new", a, {})
        self.handle, self._backend, self.used = a.handle, b, False
        weakref.finalize(self, _free, weakref.ref(b), a.handle, b.pid)

    def cancel(self):
        self.used = True
        self._backend.call("cancel", s.HandleArgs(handle=self.handle), {})


_PATIENCE = 20000  # microseconds between looks for signals
_stops = threading.local()


def interruptible(name, args, arrays):
    """Runs a call that may take long. Ctrl-C ends it within a tenth of a second."""
    b = backend()
    if threading.get_ident() != threading.main_thread().ident:  # others get no signals
        return b.call(name, args, arrays)
    stop = getattr(_stops, "stop", None)
    if stop is None or stop.used or stop._backend is not b:
        stop = _stops.stop = Stop(b)
    args.cancel = stop.handle
    b.call(name, args, arrays, stop)
