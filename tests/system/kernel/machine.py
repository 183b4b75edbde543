"""A virtual machine with Debian's kernel that sees this computer's files, read only.

It is emulated and its clock counts instructions, four nanoseconds each, unless it is told to run on
this computer's processor: what it measures does not depend on how busy this computer is.
"""

from __future__ import annotations
