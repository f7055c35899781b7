"""The container image, from scratch: the program, its shared libraries, certificate authorities, and two lines of /etc/passwd."""

import os
import pathlib
import re
import shutil
import tempfile

from release import LICENCE, ROOT, ReleaseError, folder_entries, run, tar

# The id that images without a shell often use for their one user.
USER = 65532
AUTHORITIES = pathlib.Path("/usr/share/ca-certificates/mozilla")


def library_paths(release):
    """The shared libraries and the loader, where the loader finds them."""
    text = run("ldd", release.binary)
    if "not found" in text:
        raise ReleaseError(f"ldd {release.binary}: a library is missing:\n{text}")
    return sorted(pathlib.Path(path) for path in re.findall(r"(/\S+)\s+\(0x", text))


def lay_out(release, root, documents):
    def write(path, data, mode=0o644):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(mode)

    write("usr/bin/peristyle", release.binary.read_bytes(), 0o755)
    for library in library_paths(release):
        write(str(library).lstrip("/"), library.resolve().read_bytes(), 0o755)
    authorities = sorted(AUTHORITIES.glob("*.crt"))
    if not authorities:
        raise ReleaseError(f"{AUTHORITIES} has no certificate authorities; install the package ca-certificates")
    # Only the authorities of the package: the machine may have private ones beside them.
    write("etc/ssl/certs/ca-certificates.crt", b"".join(path.read_bytes() for path in authorities))
    write("etc/passwd", f"root:x:0:0:root:/:/sbin/nologin\nperistyle:x:{USER}:{USER}::/var/lib/peristyle:/sbin/nologin\n".encode())
    write("etc/group", f"root:x:0:\nperistyle:x:{USER}:\n".encode())
    write("etc/nsswitch.conf", b"hosts: files dns\n")
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        write(f"usr/share/doc/peristyle/{name}", (ROOT / name).read_bytes())
    for name, data in documents.items():
        write(f"usr/share/doc/peristyle/{name}", data)
    for package in ("libc6", "libgcc-s1", "ca-certificates"):
        write(f"usr/share/doc/{package}/copyright", pathlib.Path(f"/usr/share/doc/{package}/copyright").read_bytes())
    # The demo and SQLite write temporary files.
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)


def build(release, documents):
    path = release.out / f"peristyle-{release.version}-{release.machine}-image.tar"
    folder = pathlib.Path(tempfile.mkdtemp())
    umask = os.umask(0o022)
    try:
        context = folder / "context"
        (context / "root").mkdir(parents=True)
        (context / "state").mkdir()
        (context / "state").chmod(0o700)
        lay_out(release, context / "root", documents)
        # A storage of its own: nothing is left on the machine, and nothing on the machine changes the image.
        buildah = ["buildah", "--root", folder / "storage", "--runroot", folder / "run", "--storage-driver", "vfs"]
        labels = {"title": "peristyle", "version": release.version, "licenses": LICENCE}
        options = [f"--label=org.opencontainers.image.{key}={value}" for key, value in labels.items()]
        containerfile = ROOT / "packaging/Containerfile"
        run(*buildah, "build", "--quiet", "--isolation", "chroot", "--timestamp", release.epoch, *options, "--file", containerfile, "--tag", "peristyle", context)
        run(*buildah, "push", "--quiet", "peristyle", f"oci:{folder / 'image'}:{release.version}")
        path.write_bytes(tar(folder_entries(folder / "image", "."), release))
    finally:
        os.umask(umask)
        shutil.rmtree(folder)
    return path
