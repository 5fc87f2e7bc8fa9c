// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstdint>

namespace daemonblob {

/// Commands that the tests send over a channel.
enum Command : std::uint32_t {
    echo,      ///< returns payload and descriptors
    argument,  ///< returns the channel's argument
    writeTo,   ///< writes the payload to the passed descriptor
    makePipe,  ///< returns the descriptors of a pipe made in the process
    crash,
    leave,  ///< ends without an answer
};

}  // namespace daemonblob
