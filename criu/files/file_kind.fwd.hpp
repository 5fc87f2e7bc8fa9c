// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

/// The halves of a kind of files, for headers of single kinds: they only declare who makes them.
namespace criu::files {

class FileKindDump;
class FileKindRestore;

}  // namespace criu::files
