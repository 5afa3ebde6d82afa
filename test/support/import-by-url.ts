// Resolves the imports of each test process as the command line does, which takes 0.4 s less of processor time.
import { importByUrl } from '../../src/cli/import-by-url.ts';

importByUrl();
