"""The Debian package: the program, the service with its settings, completions, manual pages and the guide."""

import gzip
import hashlib
import os
import pathlib
import shutil
import tempfile

from generated import completions, manual_pages
from release import ROOT, SUMMARY, ReleaseError, run

OWNERS = {"libc.so.6": "libc6", "libm.so.6": "libc6", "libgcc_s.so.1": "libgcc-s1"}
CONFIGURATION = ("etc/peristyle/peristyle.env", "etc/peristyle/peristyle.toml")
# Only root and the group of the service may read the passwords in it.
PRIVATE_MODE = 0o640


def needed_packages(release):
    found = {"adduser"}
    for library in release.libraries():
        if library.startswith("ld-linux"):
            continue
        if library not in OWNERS:
            raise ReleaseError(f"the program needs {library}; packaging/deb.py does not know the package of it")
        found.add(OWNERS[library])
    found.discard("libc6")
    major, minor = release.glibc()
    return ", ".join([*sorted(found), f"libc6 (>= {major}.{minor})"])


def write(path, data, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def lay_out(release, root, documents):
    """Writes the files of the package below `root`."""
    write(root / "usr/bin/peristyle", release.binary.read_bytes(), 0o755)
    write(root / "usr/lib/systemd/system/peristyle.service", (ROOT / "packaging/peristyle.service").read_bytes())
    for path in CONFIGURATION:
        mode = PRIVATE_MODE if path.endswith(".env") else 0o644
        write(root / path, (ROOT / "packaging" / pathlib.Path(path).name).read_bytes(), mode)
    scripts = completions(release)
    write(root / "usr/share/bash-completion/completions/peristyle", scripts["peristyle.bash"])
    write(root / "usr/share/zsh/vendor-completions/_peristyle", scripts["_peristyle"])
    write(root / "usr/share/fish/vendor_completions.d/peristyle.fish", scripts["peristyle.fish"])
    for name, text in manual_pages(release).items():
        write(root / f"usr/share/man/man1/{name}.gz", gzip.compress(text, mtime=release.epoch))
    folder = root / "usr/share/doc/peristyle"
    licences = b"".join((ROOT / name).read_bytes() + b"\n" for name in ("LICENSE-MIT", "LICENSE-APACHE"))
    write(folder / "copyright", b"Peristyle is licensed under MIT or Apache-2.0, as you choose.\n\n" + licences)
    write(folder / "changelog.gz", gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=release.epoch))
    for name, data in documents.items():
        write(folder / f"{name}.gz", gzip.compress(data, mtime=release.epoch))
    for page in sorted((ROOT / "docs/guide").glob("*.md")):
        write(folder / page.name, page.read_bytes())


def write_control(release, root):
    files = sorted(path for path in root.rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in files) // 1024
    control = f"""Package: peristyle
Version: {release.debian_version}
Architecture: {release.debian_machine}
Maintainer: The Peristyle contributors <peristyle@peristyle.invalid>
Installed-Size: {size}
Depends: {needed_packages(release)}
Recommends: ca-certificates
Suggests: postgresql, redis-server
Section: net
Priority: optional
Description: {SUMMARY[0].lower()}{SUMMARY[1:]}
 Peristyle is one program in front of a PostgreSQL or SQLite database. A
 manifest declares resources, and clients read them over REST and GraphQL.
 The same program is an OpenID Connect provider, if you want one.
"""
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files if str(path.relative_to(root)) not in CONFIGURATION)
    write(root / "DEBIAN/control", control.encode())
    write(root / "DEBIAN/md5sums", sums.encode())
    write(root / "DEBIAN/conffiles", "".join(f"/{path}\n" for path in CONFIGURATION).encode())
    for script in ("postinst", "prerm", "postrm"):
        write(root / "DEBIAN" / script, (ROOT / "packaging/debian" / script).read_bytes(), 0o755)


def build(release, documents):
    path = release.out / f"peristyle_{release.debian_version}_{release.debian_machine}.deb"
    folder = tempfile.mkdtemp()
    umask = os.umask(0o022)
    try:
        root = pathlib.Path(folder, "root")
        root.mkdir()
        lay_out(release, root, documents)
        write_control(release, root)
        # dpkg-deb sorts the files and dates them by SOURCE_DATE_EPOCH. One thread, because more would cut the data elsewhere.
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.epoch)}
        run("dpkg-deb", "--root-owner-group", "-Zxz", f"-z{min(release.level, 6)}", "--threads-max=1", "--build", root, path, env=environment)
    finally:
        os.umask(umask)
        shutil.rmtree(folder)
    return path
