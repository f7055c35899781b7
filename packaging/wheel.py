"""The Python wheel: the program is a script of the wheel, so installers put it into `bin` as it is."""

import base64
import hashlib
import time
import zipfile

from release import LICENCE, ROOT, SUMMARY, Entry


def record(entries, path):
    """The list of all files with their hashes, which every wheel must have."""
    lines = []
    for entry in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=").decode()
        lines.append(f"{entry.path},sha256={digest},{len(entry.data)}")
    return Entry(path, "\n".join([*lines, f"{path},,", ""]).encode())


def build(release, documents):
    version = release.python_version
    major, minor = release.glibc()
    tag = f"py3-none-manylinux_{major}_{minor}_{release.machine}"
    information = f"peristyle-{version}.dist-info"
    metadata = f"Metadata-Version: 2.4\nName: peristyle\nVersion: {version}\nSummary: {SUMMARY}\nLicense-Expression: {LICENCE}\n"
    metadata += "License-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
    metadata += (ROOT / "packaging/README.package.md").read_text()
    entries = [
        Entry(f"peristyle-{version}.data/scripts/peristyle", release.binary.read_bytes(), 0o755),
        *(Entry(f"{information}/licenses/{name}", (ROOT / name).read_bytes()) for name in ("LICENSE-MIT", "LICENSE-APACHE")),
        *(Entry(f"{information}/{name}", data) for name, data in documents.items()),
        Entry(f"{information}/METADATA", metadata.encode()),
        Entry(f"{information}/WHEEL", f"Wheel-Version: 1.0\nGenerator: peristyle\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()),
    ]
    entries.append(record(entries, f"{information}/RECORD"))
    path = release.out / f"peristyle-{version}-{tag}.whl"
    method = zipfile.ZIP_DEFLATED if release.level else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method, compresslevel=release.level or None) as archive:
        for entry in entries:
            header = zipfile.ZipInfo(entry.path, time.gmtime(release.epoch)[:6])
            header.create_system, header.external_attr, header.compress_type = 3, (0o100000 | entry.mode) << 16, method
            archive.writestr(header, entry.data)
    return path
