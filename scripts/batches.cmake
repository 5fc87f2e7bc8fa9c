# Compiling sources in batches. What a source includes, and what it makes out of templates of libraries, takes most of the
# compiler's time: a batch, which is a source that includes others, takes it once. With -DCRIU_UNITY=OFF every source is
# compiled alone, which is quicker for who changes a source again and again.
option(CRIU_UNITY "Compile sources in batches, for a build of everything" ON)

# batch_sources(TARGET [SIZE n] [APART folder...]): the target's C++ sources, those of a layer in batches of n at most, and
# those of a folder of APART in batches of their own. Sources of a processor's folder (arch/) share no batch with others:
# test/aarch64/cross_check compiles the other batches for another processor. A source with options of its own, or with the
# property SKIP_UNITY_BUILD_INCLUSION, is compiled alone. Sources of a batch share one anonymous namespace, so names in it
# differ within a layer.
function(batch_sources target)
  if(NOT CRIU_UNITY)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SIZE" "APART" ${ARGN})
  if(NOT ARG_SIZE)
    set(ARG_SIZE 30)
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folders)
  foreach(source IN LISTS sources)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(includes ${source} INCLUDE_DIRECTORIES)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(alone OR includes OR definitions OR NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    # By their names below the root of the tree, batches are the same wherever it stands: a compiler cache knows them.
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${path} in_tree)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${path} generated)
    if(generated OR NOT in_tree)
      continue()
    endif()
    # Rooms of a layer (criu/engine/dump/dump) share batches, since small ones would be batches of few sources.
    cmake_path(GET name PARENT_PATH folder)
    if(NOT folder IN_LIST ARG_APART)
      set(arch)
      if(folder MATCHES "/arch/")
        set(arch "/arch")
      endif()
      string(REGEX MATCH "^[^/]+/[^/]+" folder ${name})
      string(APPEND folder "${arch}")
    endif()
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND folders ${folder})
    list(APPEND names_${folder} ${name})
    set(source_of_${name} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)

  foreach(folder IN LISTS folders)
    # As many as are needed, all of about the same size.
    list(LENGTH names_${folder} count)
    math(EXPR batches "(${count} + ${ARG_SIZE} - 1) / ${ARG_SIZE}")
    foreach(batch RANGE 1 ${batches})
      math(EXPR first "(${batch} - 1) * ${count} / ${batches}")
      math(EXPR size "${batch} * ${count} / ${batches} - ${first}")
      list(SUBLIST names_${folder} ${first} ${size} names)
      if(size EQUAL 1)
        continue()
      endif()
      set(content)
      foreach(name IN LISTS names)
        string(APPEND content "#include \"${name}\"\n")
        set_source_files_properties(${source_of_${name}} PROPERTIES HEADER_FILE_ONLY ON)
      endforeach()
      set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_batches/${folder}_${batch}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${content}" @ONLY)
      target_sources(${target} PRIVATE ${file})
      # To GCC the sources in a batch are headers, in whose types it wants no anonymous namespace. That it collects garbage
      # in between saves a tenth of the memory and takes a tenth of the time.
      set_source_files_properties(${file} PROPERTIES
        COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;--param=ggc-min-heapsize=524288>")
    endforeach()
  endforeach()
endfunction()
