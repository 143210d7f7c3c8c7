import builtins, errno, fcntl, io, os, tempfile, unittest
from unittest import mock
from tidebox import lock

real_os_open, real_open = os.open, builtins.open


def no(*a, **k):
    raise OSError(errno.EOPNOTSUPP, "Operation not supported")


def os_open(path, flags, *a, **k):
    return no() if flags & os.O_EXCL else real_os_open(path, flags, *a, **k)


def py_open(file, mode="r", *a, **k):
    return no() if "x" in mode else real_open(file, mode, *a, **k)


class Lock(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for target, name, new in ((os, "open", os_open), (builtins, "open", py_open), (io, "open", py_open), (os, "link", no),
                                  (os, "symlink", no), (fcntl, "flock", no), (fcntl, "lockf", no)):
            p = mock.patch.object(target, name, new)
            p.start()
            self.addCleanup(p.stop)

    def test_excludes(self):
        d = self.folder
        for _ in range(2):
            with lock.data_lock(d):
                with self.assertRaises(lock.Busy):
                    with lock.data_lock(d):
                        self.fail("two at once")
        with self.assertRaises(KeyError):
            with lock.data_lock(d):
                raise KeyError
        with lock.data_lock(d):
            pass
