import os

from spack.package import *


class Fathomp(Package):
    """Tells what an OpenMP program costs and how far it will scale, from the
    program as it is."""

    # The tarball lies in the folder from which spack is called, or in a mirror.
    url = f"file://{os.getcwd()}/fathomp-@VERSION@-x86_64-linux.tar.gz"
    manual_download = True

    license("MIT OR Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    # The program is linked with glibc @GLIBC@ and runs with any later one.
    requires("target=x86_64:", "platform=linux")

    def install(self, spec, prefix):
        install_tree(".", prefix)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(join_path(self.prefix.bin, "fathomp"))("doctor")
