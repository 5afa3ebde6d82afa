// Runs before `npm start`, whose script needs a POSIX shell. Windows sets this variable.
if (process.env.OS === 'Windows_NT') {
  console.error(
    'The Pet Store Service does not run on Windows itself: run it in WSL 2 or in Docker (docs/operating/install.md).',
  );
  process.exit(1);
}
