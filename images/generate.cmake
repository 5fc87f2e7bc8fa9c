# Generates C and C++ from one .proto file: cmake -DPROTOC_C=… -DPROTO=…/X.proto -DPATHS=<import folders, separated by
# :> -DBASE=X -DTO=<folder> -P generate.cmake writes below TO:
#
#   X.pb-c.c, X.pb-c.h   protobuf-c's output, without comments and without the content of X.fwd.h
#   X.fwd.h              the message types as incomplete types, and the enumerations
#   X.fwd.hpp            X.fwd.h, and MessageTraits (message_traits.hpp) of each message
#   X.hpp                all of these, and the X.hpp of imported files
#
# A file whose content doesn't change isn't written, so that its users aren't compiled again. A changed comment changes
# no file; a new field changes only X.pb-c.*.
cmake_minimum_required(VERSION 3.25)

function(write_changed name text)
  if(EXISTS ${name})
    file(READ ${name} present)
    if(present STREQUAL text)
      return()
    endif()
  endif()
  file(WRITE ${name} "${text}")
endfunction()

set(scratch ${TO}/${BASE}.new)
file(MAKE_DIRECTORY ${scratch})
string(REPLACE ":" ";--proto_path=" paths "--proto_path=${PATHS}")
execute_process(COMMAND ${PROTOC_C} ${paths} --c_out=${scratch} ${PROTO} COMMAND_ERROR_IS_FATAL ANY)
file(READ ${scratch}/${BASE}.pb-c.c code)
file(READ ${scratch}/${BASE}.pb-c.h header)
file(REMOVE_RECURSE ${scratch})

string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/\n?" "" header "${header}")
string(REGEX MATCHALL "typedef struct [A-Za-z0-9_]+ [A-Za-z0-9_]+" messages "${header}")
string(REGEX MATCHALL "typedef enum [A-Za-z0-9_]+ {[^}]*} [A-Za-z0-9_]+" enumerations "${header}")
set(names "#pragma once\n#include <protobuf-c/protobuf-c.h>\n\nPROTOBUF_C__BEGIN_DECLS\n")
foreach(declaration IN LISTS messages enumerations)
  string(REPLACE "${declaration};\n" "" header "${header}")
  string(APPEND names "${declaration};\n")
endforeach()
string(APPEND names "PROTOBUF_C__END_DECLS\n")
string(REPLACE "#include <protobuf-c/protobuf-c.h>\n" "#include <protobuf-c/protobuf-c.h>\n#include \"${BASE}.fwd.h\"\n"
  header "${header}")

# Names of functions and types come from the prototype "void core_entry__init (CoreEntry *message);".
set(traits)
set(descriptors)
string(REGEX MATCHALL "void +[a-z0-9_]+__init[ \n]*\\([A-Za-z0-9_]+ +\\*message\\)" prototypes "${header}")
foreach(prototype IN LISTS prototypes)
  string(REGEX REPLACE "void +([a-z0-9_]+)__init[ \n]*\\(([A-Za-z0-9_]+) .*" "\\1;\\2" pair "${prototype}")
  list(GET pair 0 function)
  list(GET pair 1 type)
  string(APPEND descriptors "extern const ProtobufCMessageDescriptor ${function}__descriptor;\n")
  string(APPEND traits "template <>\nstruct MessageTraits<::${type}> {\n"
    "    static constexpr const ProtobufCMessageDescriptor* descriptor = &${function}__descriptor;\n};\n")
endforeach()

set(all "#pragma once\n#include \"${BASE}.fwd.hpp\"\n")
string(REGEX MATCHALL "#include \"[^\"]+\\.pb-c\\.h\"" imports "${header}")
foreach(import IN LISTS imports)
  string(REGEX REPLACE "#include \"(.*)\\.pb-c\\.h\"" "#include \"\\1.hpp\"\n" line ${import})
  string(APPEND all "${line}")
endforeach()

write_changed(${TO}/${BASE}.pb-c.c "${code}")
write_changed(${TO}/${BASE}.pb-c.h "${header}")
write_changed(${TO}/${BASE}.fwd.h "${names}")
write_changed(${TO}/${BASE}.fwd.hpp "#pragma once\n#include \"images/message_traits.hpp\"\n#include \"${BASE}.fwd.h\"\n
extern \"C\" {\n${descriptors}}\n\nnamespace criu {\n${traits}}  // namespace criu\n")
write_changed(${TO}/${BASE}.hpp "${all}#include \"${BASE}.pb-c.h\"\n")
